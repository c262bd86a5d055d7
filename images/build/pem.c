#include "images/build/pem.h"

#include "sandbox/base/owned.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 64 /* of the first and the last line of a block */

static const struct pem_kind {
    const char *label;
    bool is_certificate;
} kinds[] = {
    {"CERTIFICATE", true},     {"TRUSTED CERTIFICATE", true},    {"X509 CERTIFICATE", true},
    {"PRIVATE KEY", false},    {"ENCRYPTED PRIVATE KEY", false}, {"RSA PRIVATE KEY", false},
    {"EC PRIVATE KEY", false}, {"EC PARAMETERS", false},
};

/* A line, without its end and blanks before that. */
struct pem_line {
    const char *start;
    size_t length;
};

static struct pem_line line_at(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    struct pem_line line = {at, (size_t)((newline != NULL ? newline : end) - at)};
    while (line.length > 0 && strchr(" \t\r", line.start[line.length - 1]) != NULL &&
           line.start[line.length - 1] != '\0')
        line.length--;
    return line;
}

static bool line_marks(const struct pem_line *line, const char *mark, const struct pem_kind *kind)
{
    char whole[LINE_SIZE];
    int length = snprintf(whole, sizeof(whole), "-----%s %s-----", mark, kind->label);
    return line->length == (size_t)length && memcmp(line->start, whole, line->length) == 0;
}

/* The kind of block that begins there; NULL: none that is wanted. */
static const struct pem_kind *kind_begun(const struct pem_line *line, bool with_keys)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
        if ((with_keys || kinds[i].is_certificate) && line_marks(line, "BEGIN", &kinds[i]))
            return &kinds[i];
    return NULL;
}

/* Base64; keys may have headers before it, such as "Proc-Type: 4,ENCRYPTED". */
static bool line_is_of_block(const struct pem_line *line, const struct pem_kind *kind)
{
    const char *more = kind->is_certificate ? "+/=" : "+/=:,- ";
    for (size_t i = 0; i < line->length; i++) {
        unsigned char byte = (unsigned char)line->start[i];
        if (byte >= 0x80 || byte == '\0' || (!isalnum(byte) && strchr(more, byte) == NULL))
            return false;
    }
    return true;
}

static int block_append(struct buffer *selected, const char *from, const struct pem_line *last)
{
    size_t length = (size_t)(last->start - from) + last->length;
    int r = buffer_append(selected, from, length);
    return r == 0 ? buffer_append(selected, "\n", 1) : r;
}

int pem_select(const struct buffer *text, bool with_keys, struct buffer *selected)
{
    const struct pem_kind *kind = NULL;
    const char *from = NULL, *at = text->data;
    const char *end = text->length > 0 ? text->data + text->length : text->data;
    int count = 0;
    while (at < end) {
        struct pem_line line = line_at(at, end);
        if (kind != NULL && line_marks(&line, "END", kind)) {
            int r = block_append(selected, from, &line);
            if (r < 0)
                return r;
            count += kind->is_certificate;
            kind = NULL;
        } else if (kind == NULL || !line_is_of_block(&line, kind)) {
            kind = kind_begun(&line, with_keys);
            from = line.start;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
    }
    return count;
}
