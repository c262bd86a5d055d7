#include "mcp/tools/code_call.h"

static const struct code_tool code = {
    .language = "python",
    .description = "Runs a Python 3 program in a sandbox and returns its output. Use it to "
                   "compute, to analyse data or to test code.",
    .libraries = "Installed: numpy, pandas, scipy, matplotlib, seaborn, scikit-learn, statsmodels, "
                 "sympy, openpyxl, python-docx, pypdf, beautifulsoup4, requests, pytest and more.",
    .code = "The whole Python program, run as `python3 main.py`. Print the values you want to "
            "see: the value of a last expression is not shown.",
    .example = "print(sum(range(101)))",
    .silent_hint = "To see a value, print it: print(value)",
};

const struct tool tool_python = {
    .name = "run_python_code",
    .title = "Run Python code",
    CODE_TOOL(&code),
};
