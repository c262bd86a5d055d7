#include "interpreter/languages/typed.h"

#include <stdbool.h>
#include <string.h>

struct python_scan {
    const char *at, *end;
    size_t depth;   /* of open brackets */
    bool is_open;   /* in a string of several lines, or behind a backslash */
    bool is_block;  /* a statement has lines of its own below it */
    char first;     /* of the statement; 0: none yet */
    char last;      /* of the statement, the same */
};

static bool begins_with(const struct python_scan *scan, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

static void skip_line(struct python_scan *scan)
{
    while (scan->at < scan->end && *scan->at != '\n')
        scan->at++;
}

/* A string of one line ends with the line, as a syntax error; one of several is open at the end. */
static void skip_string(struct python_scan *scan)
{
    const char quotes[] = {*scan->at, *scan->at, *scan->at, '\0'};
    bool is_long = begins_with(scan, quotes);
    scan->at += is_long ? 3 : 1;
    while (scan->at < scan->end) {
        if (is_long ? begins_with(scan, quotes) : *scan->at == quotes[0]) {
            scan->at += is_long ? 3 : 1;
            return;
        }
        if (*scan->at == '\n' && !is_long)
            return;
        bool is_escape = *scan->at == '\\' && scan->end - scan->at > 1;
        scan->at += is_escape ? 2 : 1;
    }
    scan->is_open = true;
}

static void end_line(struct python_scan *scan)
{
    scan->at++;
    if (scan->depth > 0)
        return;
    scan->is_block |= scan->last == ':' || scan->first == '@';
    scan->first = scan->last = '\0';
}

/* Lines for a shell and for the session, as in a notebook. */
static bool skip_notebook_line(struct python_scan *scan)
{
    if (scan->first != '\0' || scan->depth > 0 || (*scan->at != '!' && *scan->at != '%'))
        return false;
    skip_line(scan);
    return true;
}

static void take_character(struct python_scan *scan)
{
    char character = *scan->at++;
    if (strchr(" \t\r\f", character) != NULL)
        return;
    if (strchr("([{", character) != NULL)
        scan->depth++;
    else if (strchr(")]}", character) != NULL && scan->depth > 0)
        scan->depth--;
    if (scan->first == '\0')
        scan->first = character;
    scan->last = character;
}

enum typed typed_python(const char *code, size_t length)
{
    struct python_scan scan = {.at = code, .end = code + length};
    if (begins_with(&scan, "%%")) /* a cell in another language */
        return TYPED_BLOCK;
    while (scan.at < scan.end) {
        if (*scan.at == '#') {
            skip_line(&scan);
        } else if (*scan.at == '\'' || *scan.at == '"') {
            skip_string(&scan);
            if (scan.first == '\0')
                scan.first = '"';
            scan.last = '"';
        } else if (*scan.at == '\n') {
            end_line(&scan);
        } else if (begins_with(&scan, "\\\n")) {
            scan.at += 2;
            scan.is_open |= scan.at == scan.end;
        } else if (!skip_notebook_line(&scan)) {
            take_character(&scan);
        }
    }
    if (scan.is_open || scan.depth > 0)
        return TYPED_OPEN;
    return scan.is_block ? TYPED_BLOCK : TYPED_WHOLE;
}
