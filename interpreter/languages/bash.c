#include "images/runners/bash/calls-start.h"
#include "images/runners/bash/session-program.h"
#include "images/runners/bash/tools-program.h"
#include "interpreter/languages/language.h"

const struct language language_bash = {
    .name = "bash",
    .title = "Bash",
    .image = "bash",
    .optional = true,
    .extensions = WORDS(".sh", ".bash"),
    .other_names = WORDS("sh", "shell"),

    .code_name = "main.sh",
    .argv = WORDS("bash", "main.sh"),
    .probe = "echo 'ok'",
    .probe_prints = "ok\n",
    .repair = CODE_WITH_NEWLINES,
    .judge_typed = typed_bash,
    .session =
        &(const struct session_runner){
            .kept = "files, directory and exported variables",
            .kind = SESSION_FRESH,
            .program = "",
            .start = {.path = ".code-sandbox/session.bash",
                      .bytes = bash_session_program,
                      .length = sizeof(bash_session_program)},
            .start_variable = "BASH_ENV",
            .calls_files = {{.path = ".code-sandbox/calls.bash",
                             .bytes = bash_calls_start,
                             .length = sizeof(bash_calls_start)},
                            {.path = ".code-sandbox/bin/tools",
                             .bytes = bash_tools_program,
                             .length = sizeof(bash_tools_program),
                             .is_executable = true}},
        },

    .description = "Runs a Bash script in a sandbox and returns its output. Use it to work on "
                   "text and files with command-line tools, or to test a script.",
    .libraries = "Installed: coreutils, grep, sed, gawk, find, diff, jq, bc and more.",
    .code = "The whole script, run as `bash main.sh`.",
    .example = "seq 1 9 | paste -sd+ | bc",
    .silent_hint = "To see a value, print it: echo \"$value\"",
};
