#include "mcp/tools/code_call.h"

static const struct code_tool code = {
    .language = "bash",
    .description = "Runs a Bash script in a sandbox and returns what it printed. Use it to work "
                   "on text and files with the tools of a shell, or to check a script by "
                   "running it.",
    .libraries = "coreutils, grep, sed, gawk, find, diff, jq and bc are there.",
    .code = "The script, whole: it is run as `bash main.sh`.",
    .example = "seq 1 9 | paste -sd+ | bc",
    .silent_hint = "To see a value, print it: echo \"$value\"",
};

const struct tool tool_bash = {
    .name = "run_bash_code",
    .title = "Run Bash code",
    CODE_TOOL(&code),
};
