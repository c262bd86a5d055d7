#include "mcp/tools/code_call.h"

static const struct code_tool code = {
    .language = "python",
    .description = "Runs a Python 3 program in a sandbox and returns what it printed. Use it "
                   "to compute, to analyse data, or to check code by running it.",
    .libraries = "numpy, pandas, matplotlib, scikit-learn and requests can be imported.",
    .code = "The Python program, whole: it is run as `python3 main.py`. Use print() for what "
            "you want to see; the value of a last expression is not shown.",
    .example = "print(sum(range(101)))",
    .silent_hint = "To see a value, print it: print(value)",
};

const struct tool tool_python = {
    .name = "run_python_code",
    .title = "Run Python code",
    CODE_TOOL(&code),
};
