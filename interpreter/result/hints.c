#include "interpreter/result/hints.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <string.h>

#define WINDOW_SIZE 4096 /* bytes of the end of stderr that are read */

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
        const struct hint_span line = span_take_line(&text);
        for (size_t k = 0; k < ARRAY_LENGTH(signs); k++) {
            struct hint_span rest = line;
            if (span_skip_to(&rest, signs[k].text))
                return (struct hint){signs[k].kind};
        }
    }
    return (struct hint){0};
}

static bool lacks_terminals(struct hint_span line, const struct run_result *result)
{
    return result->tier > TIER_P && (span_is(line, "OSError: out of pty devices") ||
                                     span_is(line, "FileNotFoundError: [Errno 2] No such file or "
                                                   "directory: '/dev/ptmx'"));
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

struct hint hint_find(const struct language *language, const struct run_result *result)
{
    char window[WINDOW_SIZE];
    struct hint_span lines[HINT_LINES_MAX];
    struct hint hint = {0};
    if (result->outcome != OUTCOME_EXITED || result->exit_code <= 0)
        return hint;
    const struct hint_span text = end_of(result->is_joined ? &result->out : &result->err, window);
    if (result->exit_code == 1 && span_last_lines(text, NULL, lines) > 0 &&
        lacks_terminals(lines[0], result))
        return (struct hint){
            .kind = HINT_ADVICE,
            .advice = "There are no pseudo-terminals where snippets share the devices of the host "
                      "(tiers C and L): use pipes.",
        };
    if (language->find_hint != NULL)
        hint = language->find_hint(text, result);
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
