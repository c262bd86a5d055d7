#include "interpreter/result/hints.h"

#include "interpreter/base/bounds.h"
#include "interpreter/result/notebook_advice.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

#define WINDOW_SIZE 4096 /* bytes of the end of stderr that are read */

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define WORD LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS

/* What is known of modules and packages. Without options, installing does not help. */
struct known_package {
    const char *name, *options, *note;
};

static const struct known_package python_packages[] = {
#define PACKAGE(...) {__VA_ARGS__},
#include "interpreter/result/python_packages.def"
#undef PACKAGE
};

static const char *const npm_packages[] = {
    "@anthropic-ai/sdk",
    "@google/genai",
    "ajv",
    "axios",
    "bcryptjs",
    "chalk",
    "cheerio",
    "commander",
    "cors",
    "csv-parse",
    "d3",
    "date-fns",
    "dayjs",
    "dotenv",
    "ejs",
    "exceljs",
    "express",
    "fastify",
    "fs-extra",
    "glob",
    "graphql",
    "handlebars",
    "immer",
    "joi",
    "js-yaml",
    "jsdom",
    "jsonwebtoken",
    "koa",
    "lodash",
    "luxon",
    "marked",
    "mathjs",
    "moment",
    "mongodb",
    "mysql2",
    "nanoid",
    "node-fetch",
    "openai",
    "papaparse",
    "pg",
    "prettier",
    "qs",
    "ramda",
    "react",
    "react-dom",
    "redis",
    "rxjs",
    "semver",
    "sharp",
    "typescript",
    "undici",
    "uuid",
    "validator",
    "vue",
    "ws",
    "xlsx",
    "yaml",
    "yargs",
    "zod",
};

/* No earlier call could have defined these: browsers, notebooks or CommonJS do. */
static const char *const names_of_other_places[] = {
    "__dirname",   "__filename",   "alert",  "display", "document", "exports",
    "get_ipython", "localStorage", "module", "prompt",  "require",  "window",
};

/* Bytes that are read from their front. */
struct hint_span {
    const char *at, *end;
};

static bool skip(struct hint_span *span, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(span->end - span->at) < length || memcmp(span->at, text, length) != 0)
        return false;
    span->at += length;
    return true;
}

/* Takes the bytes up to `mark` as a name, which has none but those of `allowed`. */
static bool take_name(struct hint_span *span, char mark, const char *allowed,
                      char name[HINT_NAME_MAX + 1])
{
    const char *end = memchr(span->at, mark, (size_t)(span->end - span->at));
    size_t length = end != NULL ? (size_t)(end - span->at) : 0;
    if (length == 0 || length > HINT_NAME_MAX)
        return false;
    memcpy(name, span->at, length);
    name[length] = '\0';
    span->at = end;
    return strspn(name, allowed) == length;
}

/* Takes the last line off the end. */
static struct hint_span take_line(struct hint_span *text)
{
    struct hint_span line = *text;
    const char *newline =
        text->at < text->end ? memrchr(text->at, '\n', (size_t)(text->end - text->at)) : NULL;
    text->end = newline != NULL ? newline : text->at;
    if (newline != NULL)
        line.at = newline + 1;
    return line;
}

static bool is_blank(struct hint_span line)
{
    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t' || *line.at == '\r'))
        line.at++;
    return line.at == line.end;
}

static struct hint_span take_last_written_line(struct hint_span *text)
{
    struct hint_span line = take_line(text);
    while (is_blank(line) && text->at < text->end)
        line = take_line(text);
    return line;
}

static struct hint undefined(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(names_of_other_places); i++) {
        if (strcmp(names_of_other_places[i], name) == 0)
            return (struct hint){HINT_NONE};
    }
    return (struct hint){HINT_UNDEFINED};
}

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

static void find_npm_package(struct hint *hint)
{
    for (size_t i = 0; i < ARRAY_LENGTH(npm_packages); i++) {
        if (strcmp(npm_packages[i], hint->name) == 0)
            hint->npm = npm_packages[i];
    }
}

/* NAME, NAME.NAME */
static bool is_module(const char *name)
{
    for (;;) {
        size_t length = strspn(name, WORD);
        if (length == 0 || strchr(DIGITS, name[0]) != NULL)
            return false;
        if (name[length] == '\0')
            return true;
        name += length + 1;
    }
}

/* Moves behind the text, if it is anywhere in the span. */
static bool skip_to(struct hint_span *span, const char *text)
{
    const char *found = memmem(span->at, (size_t)(span->end - span->at), text, strlen(text));
    if (found != NULL)
        span->at = found + strlen(text);
    return found != NULL;
}

/*
 * What libraries say of others that they need: "Missing optional dependency 'pyarrow'." of pandas, and "pip
 * install NAME", which counts for known names only.
 */
static struct hint read_needed(struct hint_span line)
{
    struct hint hint = {0};
    struct hint_span rest = line;
    if (skip_to(&rest, "Missing optional dependency '") &&
        take_name(&rest, '\'', WORD ".", hint.name) && is_module(hint.name)) {
        hint.kind = HINT_NOT_INSTALLED;
        find_python_package(&hint);
        return hint;
    }
    rest = line;
    if (!skip_to(&rest, "pip install "))
        return (struct hint){0};
    while (skip(&rest, "--upgrade ") || skip(&rest, "-U ")) {
    }
    size_t length = 0;
    while (rest.at + length < rest.end && memchr(WORD, rest.at[length], strlen(WORD)) != NULL)
        length++;
    if (length == 0 || length > HINT_NAME_MAX)
        return (struct hint){0};
    memcpy(hint.name, rest.at, length);
    hint.name[length] = '\0';
    find_python_package(&hint);
    hint.kind = HINT_NOT_INSTALLED;
    return hint.options != NULL || hint.note != NULL ? hint : (struct hint){0};
}

/* What a line says, in Python, Node and programs of shells alike. */
static const struct {
    const char *text;
    enum hint_kind kind;
} signs[] = {
    {"EOFError: EOF when reading a line", HINT_STDIN},
    {"Read-only file system: '/", HINT_PLACE},
    {"EROFS: read-only file system", HINT_PLACE},
    {": Read-only file system", HINT_PLACE},
    {"No such file or directory: '/mnt/data", HINT_PLACE},
    {"No such file or directory: '/content/", HINT_PLACE},
    {"no such file or directory, open '/mnt/data", HINT_PLACE},
    {": /mnt/data", HINT_PLACE},
    {"non-existent directory: '/mnt/data", HINT_PLACE},
    {"Temporary failure in name resolution", HINT_NETWORK},
    {"Name or service not known", HINT_NETWORK},
    {"Could not resolve host", HINT_NETWORK},
    {"getaddrinfo EAI_AGAIN", HINT_NETWORK},
    {"getaddrinfo ENOTFOUND", HINT_NETWORK},
};

/* The last sign in the last lines counts. */
static struct hint read_signs(struct hint_span text)
{
    enum { LINES_MAX = 24 };
    for (int i = 0; i < LINES_MAX && text.at < text.end; i++) {
        const struct hint_span line = take_line(&text);
        for (size_t k = 0; k < ARRAY_LENGTH(signs); k++) {
            struct hint_span rest = line;
            if (skip_to(&rest, signs[k].text))
                return (struct hint){signs[k].kind};
        }
    }
    return (struct hint){0};
}

/* The last line of a traceback. "Did you mean: 'f'?" may follow, also for the df of an earlier call. */
static struct hint read_python(struct hint_span text)
{
    struct hint_span line = take_last_written_line(&text);
    struct hint hint = {0};
    char name[HINT_NAME_MAX + 1];
    if (skip(&line, "NameError: name '")) {
        bool is_whole = take_name(&line, '\'', WORD, name) && skip(&line, "' is not defined") &&
                        (is_blank(line) || skip(&line, ". Did you "));
        return is_whole ? undefined(name) : hint;
    }
    const struct hint needed = read_needed(line);
    if (needed.kind != HINT_NONE)
        return needed;
    if (!skip(&line, "ModuleNotFoundError: No module named '") ||
        !take_name(&line, '\'', WORD ".", hint.name) || !skip(&line, "'") || !is_blank(line) ||
        !is_module(hint.name))
        return (struct hint){0};
    hint.kind = HINT_NOT_INSTALLED;
    find_python_package(&hint);
    return hint;
}

/* Cuts the path within a package off: "@scope/name/part", "name/part". False: it is no package. */
static bool cut_to_package(char *name)
{
    static const char allowed[] = LOWER DIGITS "._-";
    char *part = name + (name[0] == '@');
    for (int parts = name[0] == '@' ? 2 : 1; parts > 0; parts--) {
        size_t length = strspn(part, allowed);
        if (length == 0 || part[0] == '.' || part[0] == '-' || part[0] == '_')
            return false;
        part += length;
        if (*part != '/' && (*part != '\0' || parts > 1))
            return false;
        part += parts > 1;
    }
    *part = '\0';
    return true;
}

/* Stack, properties and "Require stack:" stand between the message and the end. */
static bool follows_message(struct hint_span line)
{
    return is_blank(line) || *line.at == ' ' || *line.at == '}' || skip(&line, "- ") ||
           skip(&line, "Require stack:");
}

static struct hint read_javascript(struct hint_span text)
{
    struct hint_span line = take_last_written_line(&text);
    struct hint hint = {0};
    char name[HINT_NAME_MAX + 1];
    if (!skip(&line, "Node.js v"))
        return hint;
    do
        line = take_line(&text);
    while (follows_message(line) && text.at < text.end);
    if (skip(&line, "ReferenceError: ")) {
        bool is_whole = take_name(&line, ' ', WORD "$", name) && skip(&line, " is not defined") &&
                        is_blank(line);
        return is_whole ? undefined(name) : hint;
    }
    bool is_missing = skip(&line, "Error: Cannot find module '") ||
                      skip(&line, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '");
    if (!is_missing || !take_name(&line, '\'', LOWER DIGITS "@/._-", hint.name) ||
        !cut_to_package(hint.name))
        return (struct hint){0};
    hint.kind = HINT_NOT_INSTALLED;
    find_npm_package(&hint);
    return hint;
}

/* The end of stderr in `window`, from the beginning of a line. */
static struct hint_span end_of(const struct capture *err, char window[WINDOW_SIZE])
{
    const struct buffer *parts[] = {&err->tail, &err->head};
    size_t room = WINDOW_SIZE;
    bool is_whole = true;
    for (size_t i = 0; i < ARRAY_LENGTH(parts) && is_whole; i++) {
        size_t taken = parts[i]->length < room ? parts[i]->length : room;
        is_whole = taken == parts[i]->length && (i > 0 || err->cut == 0);
        room -= taken;
        if (taken > 0)
            memcpy(window + room, parts[i]->data + parts[i]->length - taken, taken);
    }
    struct hint_span text = {window + room, window + WINDOW_SIZE};
    const char *newline = is_whole ? NULL : memchr(text.at, '\n', (size_t)(text.end - text.at));
    if (!is_whole)
        text.at = newline != NULL ? newline + 1 : text.end;
    return text;
}

static struct hint read_notebook(enum language_id language, struct hint_span text,
                                 const struct run_result *result)
{
    const struct notebook_advice advice =
        notebook_advice_find(language, text.at, (size_t)(text.end - text.at), result);
    if (advice.text == NULL)
        return (struct hint){0};
    return (struct hint){.kind = advice.holds_in_session ? HINT_ADVICE : HINT_NOTEBOOK,
                         .advice = advice.text};
}

struct hint hint_find(enum language_id language, const struct run_result *result)
{
    char window[WINDOW_SIZE];
    struct hint hint = {0};
    if (result->outcome != OUTCOME_EXITED || result->exit_code <= 0)
        return hint;
    const struct hint_span text = end_of(result->is_joined ? &result->out : &result->err, window);
    if (result->exit_code == 1)
        hint = read_notebook(language, text, result);
    if (hint.kind != HINT_NONE)
        return hint;
    switch (language) {
    case LANGUAGE_PYTHON:
        hint = result->exit_code == 1 ? read_python(text) : hint;
        break;
    case LANGUAGE_JAVASCRIPT:
        hint = result->exit_code == 1 ? read_javascript(text) : hint;
        break;
    case LANGUAGE_BASH:
    case LANGUAGE_COUNT:
        break;
    }
    return hint.kind != HINT_NONE ? hint : read_signs(text);
}

int hint_write_installed(const char *summary, struct buffer *text)
{
    size_t length = strlen(summary);
    while (length > LIBRARIES_SHOWN_MAX ||
           (length > 0 && summary[length] != '\0' && summary[length] != ','))
        length--;
    return buffer_format(text, "Installed: %.*s%s.", (int)length, summary,
                         summary[length] != '\0' ? " and more" : "");
}

static int write_not_installed(const struct hint *hint, const struct hint_image *image,
                               struct buffer *text)
{
    int r = buffer_format(text, "%s is not installed. ", hint->name);
    if (r == 0 && image->summary != NULL && image->summary[0] != '\0')
        r = hint_write_installed(image->summary, text);
    else if (r == 0)
        r = buffer_append_text(text, "The resource sandbox://environments lists the libraries.");
    if (r == 0)
        r = buffer_append_text(text, "\n");
    if (r == 0 && hint->options == NULL && hint->note != NULL) {
        bool is_known = strncmp(hint->note, "no: ", 4) == 0;
        return buffer_format(text, "%s%s.\n", is_known ? "It cannot work here: " : "It was ",
                             is_known ? hint->note + 4 : hint->note);
    }
    if (r < 0 || image->name == NULL || (hint->options == NULL && hint->npm == NULL))
        return r;
    return buffer_format(text,
                         "The user can add it, if they trust the package: code-sandbox-mcp images "
                         "add %s %s%s%s%s%s\n",
                         image->name, hint->npm != NULL ? "--npm " : "",
                         hint->npm != NULL ? hint->npm : hint->options,
                         hint->note != NULL ? " (" : "", hint->note != NULL ? hint->note : "",
                         hint->note != NULL ? ")" : "");
}

int hint_write(const struct hint *hint, const struct hint_image *image, struct buffer *text)
{
    switch (hint->kind) {
    case HINT_UNDEFINED:
        return buffer_format(text, "Each call is a fresh process: define the name here%s.\n",
                             image->has_sessions ? ", or keep it between calls with session" : "");
    case HINT_NOT_INSTALLED:
        return write_not_installed(hint, image, text);
    case HINT_NOTEBOOK:
        return buffer_format(
            text, "%s%s\n", hint->advice,
            image->has_sessions ? " Or leave the program as it is, and give session \"new\"." : "");
    case HINT_ADVICE:
        return buffer_format(text, "%s\n", hint->advice);
    case HINT_STDIN:
        return buffer_append_text(
            text, "Its stdin has no more lines: give them as the argument stdin.\n");
    case HINT_PLACE:
        return buffer_append_text(text,
                                  "Programs can write in the current directory, /work, whose files "
                                  "are returned, and in /tmp.\n");
    case HINT_NETWORK:
        return image->has_network ? 0 : buffer_append_text(text, "There is no network here.\n");
    case HINT_NONE:
        break;
    }
    return 0;
}
