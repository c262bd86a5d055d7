#include "interpreter/code_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FENCE_MIN 3
#define LANGUAGE_MAX 40 /* bytes behind a fence: "python", "{.python}" */

static const char *end_of_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline : end;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* How many backticks or tildes the line is, with nothing behind them but, if it may be, a language; 0: it is none. */
static size_t fence_length(const char *line, const char *end, bool may_name)
{
    while (line < end && is_blank(*line))
        line++;
    while (line < end && is_blank(end[-1]))
        end--;
    size_t length = 0;
    while (line + length < end && line[length] == line[0] && (line[0] == '`' || line[0] == '~'))
        length++;
    const char *name = line + length;
    if (length < FENCE_MIN || end - name > (may_name ? LANGUAGE_MAX : 0))
        return 0;
    for (; name < end; name++) {
        bool is_letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                         (*name >= '0' && *name <= '9');
        if (!is_letter && strchr(" +-_.#{}", *name) == NULL)
            return 0;
    }
    return length;
}

static struct code_text without_blank_lines(struct code_text code)
{
    const char *end = code.bytes + code.length;
    const char *begin = code.bytes;
    for (const char *at = begin; at < end && (is_blank(*at) || *at == '\n'); at++)
        begin = *at == '\n' ? at + 1 : begin;
    while (end > begin && (is_blank(end[-1]) || end[-1] == '\n'))
        end--;
    return (struct code_text){begin, (size_t)(end - begin)};
}

static struct code_text without_mark(struct code_text code)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t length = strlen(mark);
    bool has_it = code.length >= length && memcmp(code.bytes, mark, length) == 0;
    return has_it ? (struct code_text){code.bytes + length, code.length - length} : code;
}

struct code_text code_text_unfence(struct code_text given)
{
    const struct code_text code = without_mark(given);
    struct code_text text = without_blank_lines(code);
    const char *end = text.bytes + text.length;
    const char *first_end = end_of_line(text.bytes, end);
    size_t length = fence_length(text.bytes, first_end, true);
    if (length == 0 || first_end == end)
        return code;
    const char *begin = first_end + 1;
    char first = text.bytes[strspn(text.bytes, " \t")];
    for (const char *line = begin, *next; line <= end; line = next + 1) {
        next = end_of_line(line, end);
        if (fence_length(line, next, true) == 0)
            continue;
        bool is_last =
            next == end && fence_length(line, next, false) == length && next[-1] == first;
        return is_last ? (struct code_text){begin, (size_t)(line - begin)} : code;
    }
    return code;
}

/* The blanks before the first statement. Comments may stand anywhere. */
static struct code_text indentation(struct code_text code)
{
    const char *end = code.bytes + code.length;
    for (const char *line = code.bytes, *next; line < end; line = next + 1) {
        next = end_of_line(line, end);
        const char *word = line;
        while (word < next && (*word == ' ' || *word == '\t'))
            word++;
        if (word < next && *word != '\r' && *word != '#' && *word != '\f')
            return (struct code_text){line, (size_t)(word - line)};
        if (word < next && *word == '\f')
            break;
    }
    return (struct code_text){code.bytes, 0};
}

int code_text_dedent(struct code_text *code, char **ret_owned)
{
    const struct code_text indent = indentation(*code);
    *ret_owned = NULL;
    if (indent.length == 0)
        return 0;
    char *copy = malloc(code->length + 1);
    if (copy == NULL)
        return -ENOMEM;
    size_t length = 0;
    const char *end = code->bytes + code->length;
    for (const char *line = code->bytes, *next; line < end; line = next + 1) {
        next = end_of_line(line, end);
        size_t size = (size_t)(next - line) + (next < end);
        bool has_it = size >= indent.length && memcmp(line, indent.bytes, indent.length) == 0;
        size_t cut = has_it ? indent.length : 0;
        memcpy(copy + length, line + cut, size - cut);
        length += size - cut;
    }
    copy[length] = '\0';
    *code = (struct code_text){copy, length};
    *ret_owned = copy;
    return 0;
}

static bool ends_lines_with_cr(const struct code_text *code)
{
    bool has_lines = false;
    const char *end = code->bytes + code->length;
    for (const char *line = code->bytes, *next; line < end; line = next + 1) {
        next = end_of_line(line, end);
        if (next < end && (next == line || next[-1] != '\r'))
            return false;
        has_lines = has_lines || next < end;
    }
    return has_lines;
}

int code_text_end_lines(struct code_text *code, char **ret_owned)
{
    *ret_owned = NULL;
    if (!ends_lines_with_cr(code))
        return 0;
    char *copy = malloc(code->length + 1);
    if (copy == NULL)
        return -ENOMEM;
    size_t length = 0;
    for (size_t i = 0; i < code->length; i++) {
        bool ends_line =
            code->bytes[i] == '\r' && (i + 1 == code->length || code->bytes[i + 1] == '\n');
        if (!ends_line)
            copy[length++] = code->bytes[i];
    }
    copy[length] = '\0';
    *code = (struct code_text){copy, length};
    *ret_owned = copy;
    return 0;
}
