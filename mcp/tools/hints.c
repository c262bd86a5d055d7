#include "mcp/tools/hints.h"

#include "mcp/base/bounds.h"
#include "mcp/tools/notebook_advice.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

#define WINDOW_SIZE 4096 /* bytes of the end of stderr that are read */

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define WORD LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS

/* Where it is not the module's name. NULL: pip has no such package, or one of another author. */
static const struct {
    const char *module, *package;
} pip_packages[] = {
    {"Crypto", "pycryptodome"},
    {"Levenshtein", "levenshtein"},
    {"MySQLdb", "mysqlclient"},
    {"OpenSSL", "pyopenssl"},
    {"PIL", "pillow"},
    {"attr", "attrs"},
    {"bs4", "beautifulsoup4"},
    {"cairo", "pycairo"},
    {"cv2", "opencv-python-headless"},
    {"dateutil", "python-dateutil"},
    {"docx", "python-docx"},
    {"dotenv", "python-dotenv"},
    {"faiss", "faiss-cpu"},
    {"fitz", "pymupdf"},
    {"git", "gitpython"},
    {"jwt", "pyjwt"},
    {"magic", "python-magic"},
    {"pkg_resources", "setuptools"},
    {"pptx", "python-pptx"},
    {"psycopg2", "psycopg2-binary"},
    {"serial", "pyserial"},
    {"skimage", "scikit-image"},
    {"sklearn", "scikit-learn"},
    {"umap", "umap-learn"},
    {"usb", "pyusb"},
    {"yaml", "pyyaml"},
    {"zmq", "pyzmq"},
    {"distutils", NULL},
    {"gi", NULL},
    {"google", NULL},
    {"idlelib", NULL},
    {"imp", NULL},
    {"main", NULL},
    {"tkinter", NULL},
    {"turtle", NULL},
};

/* No earlier call could have defined these: browsers, notebooks or CommonJS do. */
static const char *const names_of_other_places[] = {
    "__dirname",   "__filename",   "alert",  "display", "document", "exports",
    "get_ipython", "localStorage", "module", "prompt",  "require",  "window",
};

/* Bytes that are read from their front. */
struct span {
    const char *at, *end;
};

static bool skip(struct span *span, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(span->end - span->at) < length || memcmp(span->at, text, length) != 0)
        return false;
    span->at += length;
    return true;
}

/* Takes the bytes up to `mark` as a name, which has none but those of `allowed`. */
static bool take_name(struct span *span, char mark, const char *allowed,
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
static struct span take_line(struct span *text)
{
    struct span line = *text;
    const char *newline =
        text->at < text->end ? memrchr(text->at, '\n', (size_t)(text->end - text->at)) : NULL;
    text->end = newline != NULL ? newline : text->at;
    if (newline != NULL)
        line.at = newline + 1;
    return line;
}

static bool is_blank(struct span line)
{
    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t' || *line.at == '\r'))
        line.at++;
    return line.at == line.end;
}

static struct span take_last_written_line(struct span *text)
{
    struct span line = take_line(text);
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

/* A submodule is not named by pip, and one that begins with _ belongs to something else. */
static void find_pip_package(struct hint *hint)
{
    const char *package =
        hint->name[0] != '_' && strchr(hint->name, '.') == NULL ? hint->name : NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(pip_packages); i++) {
        if (strcmp(pip_packages[i].module, hint->name) == 0)
            package = pip_packages[i].package;
    }
    if (package == NULL)
        return;
    hint->installer = "--pip";
    memcpy(hint->package, package, strlen(package) + 1);
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

/* The last line of a traceback. "Did you mean: 'f'?" may follow, also for the df of an earlier call. */
static struct hint read_python(struct span text)
{
    struct span line = take_last_written_line(&text);
    struct hint hint = {0};
    char name[HINT_NAME_MAX + 1];
    if (skip(&line, "NameError: name '")) {
        bool is_whole = take_name(&line, '\'', WORD, name) && skip(&line, "' is not defined") &&
                        (is_blank(line) || skip(&line, ". Did you "));
        return is_whole ? undefined(name) : hint;
    }
    if (!skip(&line, "ModuleNotFoundError: No module named '") ||
        !take_name(&line, '\'', WORD ".", hint.name) || !skip(&line, "'") || !is_blank(line) ||
        !is_module(hint.name))
        return (struct hint){0};
    hint.kind = HINT_NOT_INSTALLED;
    find_pip_package(&hint);
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
static bool follows_message(struct span line)
{
    return is_blank(line) || *line.at == ' ' || *line.at == '}' || skip(&line, "- ") ||
           skip(&line, "Require stack:");
}

static struct hint read_javascript(struct span text)
{
    struct span line = take_last_written_line(&text);
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
    hint.installer = "--npm";
    memcpy(hint.package, hint.name, sizeof(hint.package));
    return hint;
}

/* The end of stderr in `window`, from the beginning of a line. */
static struct span end_of(const struct capture *err, char window[WINDOW_SIZE])
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
    struct span text = {window + room, window + WINDOW_SIZE};
    const char *newline = is_whole ? NULL : memchr(text.at, '\n', (size_t)(text.end - text.at));
    if (!is_whole)
        text.at = newline != NULL ? newline + 1 : text.end;
    return text;
}

struct hint hint_find(enum language_id language, const struct run_result *result)
{
    char window[WINDOW_SIZE];
    if (result->outcome != OUTCOME_EXITED || result->exit_code != 1)
        return (struct hint){0};
    struct span text = end_of(&result->err, window);
    const struct notebook_advice advice =
        notebook_advice_find(language, text.at, (size_t)(text.end - text.at), result);
    if (advice.text != NULL)
        return (struct hint){.kind = advice.holds_in_session ? HINT_ADVICE : HINT_NOTEBOOK,
                             .advice = advice.text};
    switch (language) {
    case LANGUAGE_PYTHON:
        return read_python(text);
    case LANGUAGE_JAVASCRIPT:
        return read_javascript(text);
    case LANGUAGE_BASH:
    case LANGUAGE_COUNT:
        break;
    }
    return (struct hint){0};
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
    if (r < 0 || hint->installer == NULL || image->name == NULL)
        return r;
    return buffer_format(text,
                         "The user can add it, if they trust the package: code-sandbox-mcp images "
                         "add %s %s %s\n",
                         image->name, hint->installer, hint->package);
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
    case HINT_NONE:
        break;
    }
    return 0;
}
