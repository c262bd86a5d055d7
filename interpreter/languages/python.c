#include "images/runners/python/calls-program.h"
#include "images/runners/python/check-program.h"
#include "images/runners/python/session-program.h"
#include "interpreter/languages/language.h"
#include "interpreter/languages/python_start.h"
#include "sandbox/base/owned.h"

#include <string.h>

/* What is known of modules and packages. Without options, installing does not help. */
struct known_package {
    const char *name, *options, *note;
};

static const struct known_package python_packages[] = {
#define PACKAGE(...) {__VA_ARGS__},
#include "interpreter/languages/python_packages.def"
#undef PACKAGE
};

/* A submodule counts as its package, if nothing is known of itself. */
static void find_python_package(struct hint *hint)
{
    size_t length = strcspn(hint->name, ".");
    for (size_t i = 0; i < ARRAY_LENGTH(python_packages); i++) {
        const struct known_package *known = &python_packages[i];
        bool is_whole = strcmp(known->name, hint->name) == 0;
        bool is_part = strlen(known->name) == length &&
                       strncmp(known->name, hint->name, length) == 0 && known->options == NULL;
        if (!is_whole && !is_part)
            continue;
        hint->options = known->options;
        hint->note = known->note;
    }
}

/* NAME, NAME.NAME */
static bool is_module(const char *name)
{
    for (;;) {
        size_t length = strspn(name, SPAN_WORD);
        if (length == 0 || strchr(SPAN_DIGITS, name[0]) != NULL)
            return false;
        if (name[length] == '\0')
            return true;
        name += length + 1;
    }
}

/*
 * What libraries say of others that they need: "Missing optional dependency 'pyarrow'." of pandas, and "pip
 * install NAME", which counts for known names only.
 */
static struct hint read_needed(struct hint_span line)
{
    struct hint hint = {0};
    struct hint_span rest = line;
    if (span_skip_to(&rest, "Missing optional dependency '") &&
        span_take_name(&rest, '\'', SPAN_WORD ".", hint.name) && is_module(hint.name)) {
        hint.kind = HINT_NOT_INSTALLED;
        find_python_package(&hint);
        return hint;
    }
    rest = line;
    if (!span_skip_to(&rest, "pip install "))
        return (struct hint){0};
    while (span_skip(&rest, "--upgrade ") || span_skip(&rest, "-U ")) {
    }
    size_t length = 0;
    while (rest.at + length < rest.end &&
           memchr(SPAN_WORD, rest.at[length], strlen(SPAN_WORD)) != NULL)
        length++;
    if (length == 0 || length > HINT_NAME_MAX)
        return (struct hint){0};
    memcpy(hint.name, rest.at, length);
    hint.name[length] = '\0';
    find_python_package(&hint);
    hint.kind = HINT_NOT_INSTALLED;
    return hint.options != NULL || hint.note != NULL ? hint : (struct hint){0};
}

static bool has_installed(const struct capture *out)
{
    static const char mark[] = "Successfully installed ";
    const struct buffer *parts[] = {&out->head, &out->tail};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (parts[i]->length > 0 &&
            memmem(parts[i]->data, parts[i]->length, mark, strlen(mark)) != NULL)
            return true;
    }
    return false;
}

static const char *advise(const struct hint_span *lines, const struct run_result *result)
{
    if (span_is(lines[0], "SyntaxError: 'await' outside function"))
        return "A program awaits in an async function, called by asyncio.run().";
    if (span_is(lines[0], "NameError: name 'display' is not defined"))
        return "display() is of notebooks: print() the value; open figures are shown anyway.";
    if (span_begins_with(lines[0], "ModuleNotFoundError: No module named '") &&
        has_installed(&result->out))
        return "What pip installs while Python runs is found after "
               "site.addsitedir(site.getusersitepackages()).";
    struct hint_span line = span_without_indentation(lines[2]);
    if (span_begins_with(lines[0], "SyntaxError: ") && span_begins_with(line, "%matplotlib"))
        return "Leave %matplotlib out: figures are shown without it.";
    if (span_begins_with(lines[0], "SyntaxError: ") &&
        (span_begins_with(line, "!") || span_begins_with(line, "%") || span_has(line, "= !")))
        return "Lines with ! and % are of notebooks: a program calls subprocess.run().";
    return NULL;
}

/* The last line of a traceback. "Did you mean: 'f'?" may follow, also for the df of an earlier call. */
static struct hint read_last_line(struct hint_span text)
{
    struct hint_span line = span_take_written_line(&text);
    struct hint hint = {0};
    char name[HINT_NAME_MAX + 1];
    if (span_skip(&line, "NameError: name '")) {
        bool is_whole = span_take_name(&line, '\'', SPAN_WORD, name) &&
                        span_skip(&line, "' is not defined") &&
                        (span_is_blank(line) || span_skip(&line, ". Did you "));
        return is_whole ? hint_of_undefined(name) : hint;
    }
    const struct hint needed = read_needed(line);
    if (needed.kind != HINT_NONE)
        return needed;
    if (!span_skip(&line, "ModuleNotFoundError: No module named '") ||
        !span_take_name(&line, '\'', SPAN_WORD ".", hint.name) || !span_skip(&line, "'") ||
        !span_is_blank(line) || !is_module(hint.name))
        return (struct hint){0};
    hint.kind = HINT_NOT_INSTALLED;
    find_python_package(&hint);
    return hint;
}

static struct hint find_hint(struct hint_span text, const struct run_result *result)
{
    struct hint_span lines[HINT_LINES_MAX];
    struct hint hint = {0};
    if (result->exit_code != 1 || span_last_lines(text, NULL, lines) == 0)
        return hint;
    if (span_is(lines[0], "SyntaxError: unexpected character after line continuation character"))
        hint = hint_of_escapes(lines[2]);
    const char *advice = hint.kind == HINT_NONE ? advise(lines, result) : NULL;
    if (advice != NULL)
        hint = (struct hint){.kind = HINT_NOTEBOOK, .advice = advice};
    return hint.kind != HINT_NONE ? hint : read_last_line(text);
}

/* Files that hide a module of the standard library which many know. */
static const char *const hiding[] = {
    "abc.py",         "array.py",       "ast.py",       "asyncio.py",
    "base64.py",      "bisect.py",      "calendar.py",  "cmd.py",
    "code.py",        "collections.py", "copy.py",      "csv.py",
    "dataclasses.py", "datetime.py",    "decimal.py",   "email.py",
    "enum.py",        "fractions.py",   "functools.py", "glob.py",
    "hashlib.py",     "heapq.py",       "html.py",      "http.py",
    "inspect.py",     "io.py",          "itertools.py", "json.py",
    "locale.py",      "logging.py",     "math.py",      "operator.py",
    "os.py",          "pathlib.py",     "pickle.py",    "platform.py",
    "pprint.py",      "profile.py",     "queue.py",     "random.py",
    "re.py",          "secrets.py",     "select.py",    "shutil.py",
    "signal.py",      "socket.py",      "sqlite3.py",   "ssl.py",
    "stat.py",        "statistics.py",  "string.py",    "struct.py",
    "subprocess.py",  "sys.py",         "tempfile.py",  "test.py",
    "threading.py",   "time.py",        "timeit.py",    "token.py",
    "tokenize.py",    "traceback.py",   "types.py",     "typing.py",
    "unittest.py",    "urllib.py",      "uuid.py",      "warnings.py",
    "weakref.py",     "xml.py",         "zipfile.py",   NULL};

const struct language language_python = {
    .name = "python",
    .title = "Python",
    .image = "python",
    .extensions = WORDS(".py"),
    .other_names = WORDS("py", "python3"),

    .code_name = "main.py",
    .argv = WORDS("python3", "-u", "main.py"),
    .may_be_warm = true,
    .looked_for = hiding,
    .probe = "print('ok')",
    .probe_prints = "ok\n",
    .module_path = "PYTHONPATH",
    .repair = CODE_DEDENTED,
    .make_start = python_start_make,
    .judge_typed = typed_python,
    .session =
        &(const struct session_runner){
            .kept = "variables and files",
            .kind = SESSION_LIVE,
            .leaves_copies = true,
            .calls_program = python_calls_program,
            .calls_length = sizeof(python_calls_program),
            .program = python_session_program,
            .length = sizeof(python_session_program),
        },
    .check =
        &(const struct language_check){
            /* A name that no program means. */
            .files = &(const struct run_input){"code_sandbox_check.py", python_check_program,
                                               sizeof(python_check_program)},
            .file_count = 1,
            .start = "import sys; from code_sandbox_check import check",
            .before = "check(sys.stdin.buffer.read(), ",
            .between = ", ",
            .after = ")",
        },

    .description = "Runs a Python 3 program in a sandbox and returns its output. Use it to "
                   "compute, to analyse data or to test code.",
    .libraries = "Installed: numpy, pandas, scipy, matplotlib, seaborn, scikit-learn, statsmodels, "
                 "sympy, openpyxl, python-docx, pypdf, beautifulsoup4, requests, pytest and more.",
    .code = "The whole Python program, run as `python3 main.py`. Print the values you want to "
            "see: the value of a last expression is not shown.",
    .example = "print(sum(range(101)))",
    .silent_hint = "To see a value, print it: print(value)",
    .misses =
        (const struct language_miss[]){
            {"No module named '", MISS_MODULE, WORDS(".py", "")},
            {"No such file or directory: '", MISS_FILE, WORDS("")},
            {0},
        },
    .find_hint = find_hint,
};
