#include "interpreter/base/bounds.h"
#include "interpreter/result/hints.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SUMMARY "Python 3.13.5; numpy 2.2.4"
#define FRESH "Each call is a fresh process: define the name here.\n"
#define MISSING(name) name " is not installed. Installed: " SUMMARY ".\n"
#define ADDABLE(name, package)                                                                     \
    MISSING(name)                                                                                  \
    "The user can add it, if they trust the package: code-sandbox-mcp images add mine " package "\n"
#define TRACE                                                                                      \
    "Traceback (most recent call last):\n  File \"/work/main.py\", line 1, in <module>\n    x\n"
#define PLACE                                                                                      \
    "Programs can write in the current directory, /work, whose files are returned, and in /tmp.\n"
#define OFFLINE "There is no network here.\n"
#define NODE(message)                                                                              \
    "/work/main.js:1\nconsole.log(x)\n            ^\n\n" message                                   \
    "\n    at Object.<anonymous> (/work/main.js:1:13)\n    at node:internal/main:33:47\n\n"        \
    "Node.js v24.21.0\n"
#define REQUIRED(name)                                                                             \
    "node:internal/modules/cjs/loader:1424\n  throw err;\n  ^\n\nError: Cannot find module '" name \
    "'\nRequire stack:\n- /work/a.js\n- /work/main.js\n    at wrap (node:internal:1:2) {\n"        \
    "  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/work/a.js', '/work/main.js' ]\n}\n\n"        \
    "Node.js v24.21.0\n"
#define IMPORTED(name)                                                                             \
    NODE("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '" name "' imported from /work/main.js")

static struct run_result failed(struct capture err)
{
    return (struct run_result){.outcome = OUTCOME_EXITED, .exit_code = 1, .err = err};
}

static struct capture capture_of(const char *head, const char *tail)
{
    struct capture capture = {.head = BUFFER(MEBIBYTE), .tail = BUFFER(MEBIBYTE)};
    assert_int_equal(buffer_append_text(&capture.head, head), 0);
    assert_int_equal(buffer_append_text(&capture.tail, tail), 0);
    return capture;
}

static void assert_hint(const struct language *language, const char *err, const char *expected)
{
    static const struct hint_image image = {.name = "mine", .summary = SUMMARY};
    OWNED(run_result_release) struct run_result result = failed(capture_of(err, ""));
    OWNED(buffer_release) struct buffer text = BUFFER(2048);
    struct hint hint = hint_find(language, &result);
    assert_int_equal(hint_write(&hint, &image, &text), 0);
    const char *written = buffer_string(&text);
    if (written == NULL || strcmp(written, expected) != 0)
        fail_msg("after %s\n\"%s\" and not \"%s\"", err, written, expected);
}

static void python_says_it_in_its_last_line(void **state)
{
    (void)state;
    static const struct {
        const char *err, *hint;
    } cases[] = {
        {TRACE "NameError: name 'df' is not defined\n", FRESH},
        {"NameError: name '_x1' is not defined", FRESH},
        {TRACE "NameError: name 'x' is not defined\n\n \n", FRESH},
        {TRACE "NameError: name 'os' is not defined. Did you forget to import 'os'?\n", FRESH},
        {TRACE "NameError: name 'df' is not defined. Did you mean: 'f'?\n", FRESH},
        {TRACE "NameError: name 'x' is not defined, says who\n", ""},
        {TRACE "ModuleNotFoundError: No module named 'helper'\n", MISSING("helper")},
        {TRACE "ModuleNotFoundError: No module named 'pandsa'\n", MISSING("pandsa")},
        {TRACE "ModuleNotFoundError: No module named 'utils.io'\n", MISSING("utils.io")},
        {TRACE "ModuleNotFoundError: No module named 'my_package'\n", MISSING("my_package")},
        {TRACE "ModuleNotFoundError: No module named 'config'\n", MISSING("config")},
        {TRACE "ModuleNotFoundError: No module named 'github'\n",
         ADDABLE("github", "--pip pygithub")},
        {TRACE "ModuleNotFoundError: No module named 'nacl'\n", ADDABLE("nacl", "--pip pynacl")},
        {TRACE "ModuleNotFoundError: No module named 'telegram'\n",
         ADDABLE("telegram", "--pip python-telegram-bot")},
        {TRACE "ModuleNotFoundError: No module named 'cairosvg'\n",
         ADDABLE("cairosvg", "--apt libcairo2 --pip cairosvg")},
        {TRACE "ModuleNotFoundError: No module named 'weasyprint'\n",
         ADDABLE("weasyprint", "--apt libpango-1.0-0 --apt libpangoft2-1.0-0 --pip weasyprint")},
        {TRACE "ModuleNotFoundError: No module named 'selenium'\n",
         MISSING("selenium") "It cannot work here: needs a browser and the network.\n"},
        {TRACE "ModuleNotFoundError: No module named 'tabula'\n",
         MISSING("tabula") "It cannot work here: needs Java, which images add cannot install.\n"},
        {TRACE "ModuleNotFoundError: No module named 'torch'\n",
         MISSING("torch") "It was not tried: its wheel brings several GB for GPUs.\n"},
        {TRACE "ModuleNotFoundError: No module named 'nltk'\n",
         ADDABLE("nltk", "--pip nltk (its corpora need the network)")},
        {TRACE "ImportError: Missing optional dependency 'pyarrow'.  Use pip or conda to install "
               "pyarrow.\n",
         ADDABLE("pyarrow", "--pip pyarrow")},
        {TRACE " - Missing optional dependency 'tables'. Use pip or conda to install tables.\n",
         ADDABLE("tables", "--pip tables")},
        {TRACE "ImportError: Missing optional dependency 'a b'.\n", ""},
        {TRACE "    $ pip install --upgrade kaleido\n",
         MISSING(
             "kaleido") "It cannot work here: needs a browser (so plotly writes HTML, not PNG).\n"},
        {TRACE "try: pip install -U polars\n", ADDABLE("polars", "--pip polars")},
        {TRACE "try: pip install something-else\n", ""},
        {TRACE "EOFError: EOF when reading a line\n",
         "Its stdin has no more lines: give them as the argument stdin.\n"},
        {TRACE "OSError: [Errno 30] Read-only file system: '/data'\n", PLACE},
        {TRACE "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/data/a.csv'\n",
         PLACE},
        {TRACE "OSError: Cannot save file into a non-existent directory: '/mnt/data'\n", PLACE},
        {TRACE "FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'\n", ""},
        {TRACE "socket.gaierror: [Errno -3] Temporary failure in name resolution\n", OFFLINE},
        {TRACE
         "requests.exceptions.ConnectionError: x (Caused by NameResolutionError(\"x: Failed to "
         "resolve 'x' ([Errno -3] Temporary failure in name resolution)\"))\n",
         OFFLINE},
        {TRACE "NameError: name 'x y' is not defined\n", ""},
        {TRACE "NameError: name 'x\n", ""},
        {TRACE "NameError: name '' is not defined\n", ""},
        {TRACE "    NameError: name 'x' is not defined\n", ""},
        {TRACE "NameError: name 'x' is not defined\nbye\n", ""},
        {TRACE "UnboundLocalError: cannot access local variable 'x'\n", ""},
        {TRACE "ModuleNotFoundError: No module named 'polars'\n",
         ADDABLE("polars", "--pip polars")},
        {TRACE "ModuleNotFoundError: No module named 'cv2'\n",
         ADDABLE("cv2", "--pip opencv-python-headless")},
        {TRACE "ModuleNotFoundError: No module named 'PIL'\n", ADDABLE("PIL", "--pip pillow")},
        {TRACE "ModuleNotFoundError: No module named 'yaml'\n", ADDABLE("yaml", "--pip pyyaml")},
        {TRACE "ModuleNotFoundError: No module named 'numpy.typo'\n", MISSING("numpy.typo")},
        {TRACE "ModuleNotFoundError: No module named '_ctypes'\n", MISSING("_ctypes")},
        {TRACE "ModuleNotFoundError: No module named 'tkinter'\n",
         MISSING("tkinter") "It cannot work here: needs a display.\n"},
        {TRACE "ModuleNotFoundError: No module named 'a.b'; 'a' is not a package\n", ""},
        {TRACE "ModuleNotFoundError: No module named 'a; rm -rf ~'\n", ""},
        {TRACE "ModuleNotFoundError: No module named '-rf'\n", ""},
        {TRACE "ModuleNotFoundError: No module named '1a'\n", ""},
        {TRACE "ModuleNotFoundError: No module named '.a'\n", ""},
        {TRACE "ModuleNotFoundError: No module named 'a..b'\n", ""},
        {TRACE "ModuleNotFoundError: No module named 'a.'\n", ""},
        {TRACE "ModuleNotFoundError: No module named 'a\xc3\xa9'\n", ""},
        {TRACE "ModuleNotFoundError: No module named ''\n", ""},
        {NODE("ReferenceError: x is not defined"), ""},
        {"", ""},
        {"\n\n", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_hint(&language_python, cases[i].err, cases[i].hint);
}

static void node_says_it_above_the_stack(void **state)
{
    (void)state;
    static const struct {
        const char *err, *hint;
    } cases[] = {
        {NODE("ReferenceError: x is not defined"), FRESH},
        {"ReferenceError: $ is not defined\n    at main.js:1\n\nNode.js v22.1.0", FRESH},
        {NODE("ReferenceError: document is not defined"), ""},
        {NODE("ReferenceError: require is not defined in ES module scope"), ""},
        {NODE("ReferenceError: Cannot access 'x' before initialization"), ""},
        {NODE("TypeError: x is not defined"), ""},
        {"ReferenceError: x is not defined\n    at main.js:1\n", ""}, /* printed, and not the end */
        {"ReferenceError: x is not defined\n" NODE("TypeError: y"), ""},
        {REQUIRED("express"), ADDABLE("express", "--npm express")},
        {REQUIRED("lodash/fp"), ADDABLE("lodash", "--npm lodash")},
        {REQUIRED("@google/genai/part/of.js"), ADDABLE("@google/genai", "--npm @google/genai")},
        {REQUIRED("helper"), MISSING("helper")},
        {REQUIRED("lodahs"), MISSING("lodahs")},
        {NODE("Error: getaddrinfo EAI_AGAIN example.org"), OFFLINE},
        {NODE("Error: ENOENT: no such file or directory, open '/mnt/data/a'"), PLACE},
        {IMPORTED("express"), ADDABLE("express", "--npm express")},
        {IMPORTED("@scope/name"), MISSING("@scope/name")},
        {REQUIRED("./helper"), ""},
        {REQUIRED("../x"), ""},
        {REQUIRED("/work/x.js"), ""},
        {REQUIRED("@scope"), ""},
        {REQUIRED("@/x"), ""},
        {REQUIRED("@a/-b"), ""},
        {REQUIRED("--global"), ""},
        {REQUIRED("a b"), ""},
        {REQUIRED("a;b"), ""},
        {REQUIRED("$(id)"), ""},
        {REQUIRED(""), ""},
        {TRACE "NameError: name 'x' is not defined\n", ""},
        {"Node.js v24.21.0", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_hint(&language_javascript, cases[i].err, cases[i].hint);
}

static void other_ends_and_other_languages_get_none(void **state)
{
    (void)state;
    static const char err[] = "NameError: name 'x' is not defined\n";
    assert_hint(&language_python, err, FRESH);
    assert_hint(&language_bash, err, "");
    OWNED(run_result_release) struct run_result result = failed(capture_of(err, ""));
    result.exit_code = 2;
    assert_int_equal(hint_find(&language_python, &result).kind, HINT_NONE);
    result.exit_code = 1;
    result.outcome = OUTCOME_TIMED_OUT;
    assert_int_equal(hint_find(&language_python, &result).kind, HINT_NONE);
}

/* The end may be in the head, in the tail, or in both of them. */
static void the_end_of_a_long_stream_is_read(void **state)
{
    (void)state;
    static char filling[MEBIBYTE / 2];
    memset(filling, 'x', sizeof(filling) - 1);
    filling[sizeof(filling) - 2] = '\n';
    static const struct {
        const char *head, *tail;
        uint64_t cut;
        enum hint_kind kind;
    } cases[] = {
        {filling, "NameError: name 'x' is not defined\n", 5,
         HINT_NONE}, /* its line may begin earlier */
        {filling, "\nNameError: name 'x' is not defined\n", 5, HINT_UNDEFINED},
        {filling, "NameError: name 'x' is not defined\n", 0, HINT_UNDEFINED},
        {"a\nNameError: na", "me 'x' is not defined\n", 0, HINT_UNDEFINED},
        {"a\nNameError: na", "me 'x' is not defined\n", 1, HINT_NONE},
        {"NameError: name 'x' is not defined\n", filling, 0, HINT_NONE},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(run_result_release)
        struct run_result result = failed(capture_of(cases[i].head, cases[i].tail));
        result.err.cut = cases[i].cut;
        if (hint_find(&language_python, &result).kind != cases[i].kind)
            fail_msg("case %zu", i);
    }
}

static void names_are_bounded(void **state)
{
    (void)state;
    char name[HINT_NAME_MAX + 2];
    memset(name, 'a', sizeof(name));
    for (int length = HINT_NAME_MAX; length <= HINT_NAME_MAX + 1; length++) {
        char err[256];
        snprintf(err, sizeof(err), "ModuleNotFoundError: No module named '%.*s'\n", length, name);
        OWNED(run_result_release) struct run_result result = failed(capture_of(err, ""));
        assert_int_equal(hint_find(&language_python, &result).kind,
                         length <= HINT_NAME_MAX ? HINT_NOT_INSTALLED : HINT_NONE);
    }
}

static void an_image_is_only_told_of_as_far_as_it_is_known(void **state)
{
    (void)state;
    static const struct {
        struct hint_image image;
        const char *hint;
    } cases[] = {
        {{NULL, NULL},
         "polars is not installed. The resource sandbox://environments lists the libraries.\n"},
        {{NULL, "A 1, B 2"}, "polars is not installed. Installed: A 1, B 2.\n"},
        {{"i", ""},
         "polars is not installed. The resource sandbox://environments lists the libraries.\n"
         "The user can add it, if they trust the package: code-sandbox-mcp images add i --pip polars\n"},
    };
    OWNED(run_result_release)
    struct run_result result =
        failed(capture_of("ModuleNotFoundError: No module named 'polars'", ""));
    struct hint hint = hint_find(&language_python, &result);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(2048);
        assert_int_equal(hint_write(&hint, &cases[i].image, &text), 0);
        assert_string_equal(buffer_string(&text), cases[i].hint);
    }
}

static void a_long_summary_is_cut_at_a_comma(void **state)
{
    (void)state;
    char summary[2 * LIBRARIES_SHOWN_MAX];
    for (size_t i = 0; i < sizeof(summary) - 1; i++)
        summary[i] = i % 10 == 9 ? ',' : 'a';
    summary[sizeof(summary) - 1] = '\0';
    OWNED(buffer_release) struct buffer text = BUFFER(2048);
    assert_int_equal(hint_write_installed(summary, &text), 0);
    char expected[LIBRARIES_SHOWN_MAX + 64];
    snprintf(expected, sizeof(expected), "Installed: %.*s and more.", LIBRARIES_SHOWN_MAX - 1,
             summary);
    assert_string_equal(buffer_string(&text), expected);
}

#define MARKED(line, error) "  File \"/work/main.py\", line 1\n    " line "\n    ^\n" error "\n"
#define AWAIT "A program awaits in an async function, called by asyncio.run().\n"
#define COMMANDS "Lines with ! and % are of notebooks: a program calls subprocess.run().\n"
#define ESCAPED "The code has \\n, two characters, where a line ends: give it real line ends.\n"
#define TYPES "A program is JavaScript: leave types out.\n"
#define AT(line, error)                                                                            \
    "/work/main.js:1\n" line "\n   ^\n\n" error                                                    \
    "\n    at wrap (node:internal/a:1:2)\n\nNode.js v24.21.0\n"

static void what_is_of_notebooks_gets_its_remedy(void **state)
{
    (void)state;
    static const struct {
        const struct language *language;
        const char *err, *hint;
    } cases[] = {
        {&language_python, MARKED("await f()", "SyntaxError: 'await' outside function"), AWAIT},
        {&language_python, MARKED("!pip install x", "SyntaxError: invalid syntax"), COMMANDS},
        {&language_python, MARKED("%cd /tmp", "SyntaxError: invalid syntax"), COMMANDS},
        {&language_python, MARKED("x = !ls", "SyntaxError: invalid syntax"), COMMANDS},
        {&language_python, MARKED("%matplotlib inline", "SyntaxError: invalid syntax"),
         "Leave %matplotlib out: figures are shown without it.\n"},
        {&language_python, TRACE "NameError: name 'display' is not defined\n",
         "display() is of notebooks: print() the value; open figures are shown anyway.\n"},
        {&language_javascript, AT("let x: number = 5", "SyntaxError: Unexpected token ':'"), TYPES},
        {&language_javascript,
         AT("const x: string = 'a'", "SyntaxError: Missing initializer in const declaration"),
         TYPES},
        {&language_javascript, AT("interface P {", "SyntaxError: Unexpected identifier 'P'"),
         TYPES},
        {&language_javascript, AT("type N = 1", "SyntaxError: Unexpected identifier 'N'"), TYPES},
        {&language_javascript, AT("enum E {", "SyntaxError: Unexpected reserved word"), TYPES},
        {&language_javascript,
         AT("await require('fs')",
            "ReferenceError: Cannot determine intended module format because both 'require' and "
            "top-level await are present."),
         "With await at the top, a program imports: import fs from 'node:fs'.\n"},
        {&language_python,
         MARKED("import os\\nprint(1)",
                "SyntaxError: unexpected character after line continuation character"),
         ESCAPED},
        {&language_javascript, AT("let a = 1;\\nf(a);", "SyntaxError: Invalid or unexpected token"),
         ESCAPED},
        /* Other errors, and the same of other languages. */
        {&language_python,
         MARKED("x = 1 \\ 2",
                "SyntaxError: unexpected character after line continuation character"),
         ""},
        {&language_python, MARKED("x = 'a\\nb' y", "SyntaxError: invalid syntax"), ""},
        {&language_javascript, AT("let a = 1 # 2", "SyntaxError: Invalid or unexpected token"), ""},
        {&language_python, MARKED("x = = 1", "SyntaxError: invalid syntax"), ""},
        {&language_python, MARKED("x = 7 %", "SyntaxError: invalid syntax"), ""},
        {&language_python, TRACE "ValueError: !ls\n", ""},
        {&language_python, TRACE "OSError: out of pty devices\n", ""},
        {&language_bash, MARKED("!ls", "SyntaxError: invalid syntax"), ""},
        {&language_bash, "", ""},
        {&language_javascript, AT("let x = = 5", "SyntaxError: Unexpected token '='"), ""},
        {&language_javascript, AT("{\"a\": 1}", "SyntaxError: Unexpected token ':'"), ""},
        {&language_javascript, AT("const o = f({a: 1;", "SyntaxError: Unexpected token ';'"), ""},
        {&language_javascript, AT("f(", "SyntaxError: missing ) after argument list"), ""},
        {&language_javascript,
         AT("const x", "SyntaxError: Missing initializer in const declaration"), ""},
        {&language_javascript, MARKED("await f()", "SyntaxError: 'await' outside function"), ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_hint(cases[i].language, cases[i].err, cases[i].hint);
}

static void a_tier_without_terminals_says_so(void **state)
{
    (void)state;
    for (enum tier tier = TIER_F; tier < TIER_COUNT; tier++) {
        OWNED(run_result_release)
        struct run_result result = failed(capture_of(TRACE "OSError: out of pty devices\n", ""));
        result.tier = tier;
        struct hint hint = hint_find(&language_python, &result);
        assert_int_equal(hint.kind, tier == TIER_C || tier == TIER_L ? HINT_ADVICE : HINT_NONE);
    }
}

static void what_the_program_has_installed_is_not_told_to_be_missing(void **state)
{
    (void)state;
    static const char err[] = TRACE "ModuleNotFoundError: No module named 'polars'\n";
    static const struct {
        const char *out;
        enum hint_kind kind;
    } table[] = {
        {"Successfully installed polars-1.2\n", HINT_NOTEBOOK},
        {"a\nSuccessfully installed numpy-2 polars-1.2\nb\n", HINT_NOTEBOOK},
        {"", HINT_NOT_INSTALLED},
        {"Successfully done\n", HINT_NOT_INSTALLED},
        {"ERROR: No matching distribution found for polars\n", HINT_NOT_INSTALLED},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        OWNED(run_result_release) struct run_result result = failed(capture_of(err, ""));
        result.out = capture_of(table[i].out, "");
        assert_int_equal(hint_find(&language_python, &result).kind, table[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_says_it_in_its_last_line),
        cmocka_unit_test(node_says_it_above_the_stack),
        cmocka_unit_test(other_ends_and_other_languages_get_none),
        cmocka_unit_test(the_end_of_a_long_stream_is_read),
        cmocka_unit_test(names_are_bounded),
        cmocka_unit_test(an_image_is_only_told_of_as_far_as_it_is_known),
        cmocka_unit_test(a_long_summary_is_cut_at_a_comma),
        cmocka_unit_test(what_is_of_notebooks_gets_its_remedy),
        cmocka_unit_test(a_tier_without_terminals_says_so),
        cmocka_unit_test(what_the_program_has_installed_is_not_told_to_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
