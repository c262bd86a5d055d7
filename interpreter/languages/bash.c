#include "images/runners/bash/session-program.h"
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
    .repair = CODE_WITH_NEWLINES,
    .session =
        &(const struct session_runner){
            .prefix = "sh",
            .kept = "files, directory and exported variables",
            .kind = SESSION_FRESH,
            .program = "",
            .start = {.path = ".code-sandbox/session.bash",
                      .bytes = bash_session_program,
                      .length = sizeof(bash_session_program)},
            .start_variable = "BASH_ENV",
        },

    .description = "Runs a Bash script in a sandbox and returns its output. Use it to work on "
                   "text and files with command-line tools, or to test a script.",
    .libraries = "Installed: coreutils, grep, sed, gawk, find, diff, jq, bc and more.",
    .code = "The whole script, run as `bash main.sh`.",
    .example = "seq 1 9 | paste -sd+ | bc",
    .silent_hint = "To see a value, print it: echo \"$value\"",
};
