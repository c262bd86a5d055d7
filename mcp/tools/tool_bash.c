#include "mcp/tools/code_call.h"

static const struct code_tool code = {
    .language = "bash",
    .description = "Runs a Bash script in a sandbox and returns its output. Use it to work on "
                   "text and files with command-line tools, or to test a script.",
    .libraries = "Installed: coreutils, grep, sed, gawk, find, diff, jq, bc and more.",
    .code = "The whole script, run as `bash main.sh`.",
    .example = "seq 1 9 | paste -sd+ | bc",
    .silent_hint = "To see a value, print it: echo \"$value\"",
};

const struct tool tool_bash = {
    .name = "run_bash_code",
    .title = "Run Bash code",
    CODE_TOOL(&code),
};
