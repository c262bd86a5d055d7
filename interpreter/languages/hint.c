#include "interpreter/languages/hint.h"

#include "sandbox/base/owned.h"

#include <string.h>

/* No earlier call could have defined these: browsers, notebooks or CommonJS do. */
static const char *const names_of_other_places[] = {
    "__dirname",   "__filename",   "alert",  "display", "document", "exports",
    "get_ipython", "localStorage", "module", "prompt",  "require",  "window",
};

bool span_skip(struct hint_span *span, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(span->end - span->at) < length || memcmp(span->at, text, length) != 0)
        return false;
    span->at += length;
    return true;
}

bool span_skip_to(struct hint_span *span, const char *text)
{
    const char *found = memmem(span->at, (size_t)(span->end - span->at), text, strlen(text));
    if (found != NULL)
        span->at = found + strlen(text);
    return found != NULL;
}

bool span_begins_with(struct hint_span span, const char *text)
{
    return span_skip(&span, text);
}

bool span_begins_with_any(struct hint_span span, const char *const *texts)
{
    while (*texts != NULL && !span_begins_with(span, *texts))
        texts++;
    return *texts != NULL;
}

bool span_is(struct hint_span span, const char *text)
{
    return span_skip(&span, text) && span.at == span.end;
}

bool span_has(struct hint_span span, const char *text)
{
    return span_skip_to(&span, text);
}

struct hint_span span_without_indentation(struct hint_span span)
{
    while (span.at < span.end && (*span.at == ' ' || *span.at == '\t'))
        span.at++;
    return span;
}

bool span_take_name(struct hint_span *span, char mark, const char *allowed,
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

struct hint_span span_take_line(struct hint_span *text)
{
    struct hint_span line = *text;
    const char *newline =
        text->at < text->end ? memrchr(text->at, '\n', (size_t)(text->end - text->at)) : NULL;
    text->end = newline != NULL ? newline : text->at;
    if (newline != NULL)
        line.at = newline + 1;
    return line;
}

bool span_is_blank(struct hint_span line)
{
    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t' || *line.at == '\r'))
        line.at++;
    return line.at == line.end;
}

struct hint_span span_take_written_line(struct hint_span *text)
{
    struct hint_span line = span_take_line(text);
    while (span_is_blank(line) && text->at < text->end)
        line = span_take_line(text);
    return line;
}

size_t span_last_lines(struct hint_span text, bool (*is_about)(struct hint_span line),
                       struct hint_span ret_lines[HINT_LINES_MAX])
{
    size_t count = 0;
    while (text.at < text.end && count < HINT_LINES_MAX) {
        struct hint_span line = span_take_line(&text);
        while (line.at < line.end && strchr(" \t\r", line.end[-1]) != NULL)
            line.end--;
        if (line.at < line.end && (is_about == NULL || !is_about(line)))
            ret_lines[count++] = line;
    }
    for (size_t i = count; i < HINT_LINES_MAX; i++)
        ret_lines[i] = (struct hint_span){text.at, text.at};
    return count;
}

struct hint hint_of_undefined(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(names_of_other_places); i++) {
        if (strcmp(names_of_other_places[i], name) == 0)
            return (struct hint){HINT_NONE};
    }
    return (struct hint){HINT_UNDEFINED};
}

struct hint hint_of_escapes(struct hint_span line)
{
    if (!span_has(line, "\\n"))
        return (struct hint){HINT_NONE};
    return (struct hint){
        .kind = HINT_ADVICE,
        .advice = "The code has \\n, two characters, where a line ends: give it real line ends.",
    };
}
