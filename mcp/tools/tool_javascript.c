#include "mcp/tools/code_call.h"

static const struct code_tool code = {
    .language = "javascript",
    .description = "Runs a JavaScript program with Node.js in a sandbox and returns its output. "
                   "Use it to compute or to test code.",
    .libraries = "Installed: Node's own modules and @google/genai.",
    .code = "The whole JavaScript program, run as `node main.js`. Use either require(), or import "
            "and top-level await. Print the values you want to see with console.log().",
    .example = "console.log([1, 2, 3].map((x) => x * x))",
    .silent_hint = "To see a value, print it: console.log(value)",
};

const struct tool tool_javascript = {
    .name = "run_javascript_code",
    .title = "Run JavaScript code",
    CODE_TOOL(&code),
};
