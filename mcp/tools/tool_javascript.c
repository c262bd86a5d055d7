#include "mcp/tools/code_call.h"

static const struct code_tool code = {
    .language = "javascript",
    .description = "Runs a JavaScript program with Node.js in a sandbox and returns what it "
                   "printed. Use it to compute, or to check code by running it.",
    .libraries = "Node's own modules can be imported, and @google/genai.",
    .code = "The JavaScript program, whole: it is run as `node main.js`. Both require() and "
            "import work, and await at the top level of a module. Use console.log() for what "
            "you want to see.",
    .example = "console.log([1, 2, 3].map((x) => x * x))",
    .silent_hint = "To see a value, print it: console.log(value)",
};

const struct tool tool_javascript = {
    .name = "run_javascript_code",
    .title = "Run JavaScript code",
    CODE_TOOL(&code),
};
