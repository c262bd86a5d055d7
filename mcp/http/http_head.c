#include "mcp/http/http_head.h"

#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VERSION_SIZE 8     /* "HTTP/1.1" */
#define LENGTH_DIGITS_MAX 18 /* of Content-Length */

/* Readers of a request must not differ in which one of two counts. */
static const char *const single_fields[] = {
    "Host",           "Origin",           "Authorization",
    "Content-Type",   "Content-Length",   "Transfer-Encoding",
    "Mcp-Session-Id", "Mcp-Method",       "Mcp-Protocol-Version",
    "Mcp-Name",       "Content-Encoding",
};

struct head_walk {
    const char *at; /* where the next field must begin; NULL: no place is checked */
    bool is_wrong;
    unsigned counts[ARRAY_LENGTH(single_fields)];
    size_t length_digits; /* of Content-Length; 0: there is none, or it is no number */
    bool is_chunked;      /* Transfer-Encoding is just that */
};

enum { LENGTH = 4, ENCODING = 5 };

static bool is_token(const char *text, size_t length)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (!is_letter && !(byte >= '0' && byte <= '9') && (byte == 0 || !strchr(others, byte)))
            return false;
    }
    return length > 0;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
            return false;
    return true;
}

/* What was CR LF is two NULs. */
static bool is_line_end(const char *at)
{
    return at[0] == '\0' && at[1] == '\0';
}

/* "name", a NUL that was the colon, blanks, "value", the end of the line. */
static bool is_in_place(struct head_walk *walk, const char *name, const char *value, size_t length)
{
    const char *at = walk->at;
    if (name != at || value < at + strlen(name) + 1)
        return false;
    for (at += strlen(name) + 1; at < value; at++)
        if (!is_blank(*at))
            return false;
    walk->at = value + length + 2;
    return is_line_end(value + length);
}

static void note_length(struct head_walk *walk, const char *value, size_t length)
{
    while (length > 0 && is_blank(value[length - 1]))
        length--;
    size_t digits = strspn(value, "0123456789");
    walk->length_digits = digits == length && length <= LENGTH_DIGITS_MAX ? length : 0;
}

static void note_encoding(struct head_walk *walk, const char *value, size_t length)
{
    while (length > 0 && is_blank(value[length - 1]))
        length--;
    walk->is_chunked = length == strlen("chunked") && strncasecmp(value, "chunked", length) == 0;
}

static enum MHD_Result look(void *data, enum MHD_ValueKind kind, const char *name,
                            const char *value)
{
    struct head_walk *walk = data;
    (void)kind;
    value = value != NULL ? value : "";
    size_t length = strlen(value);
    for (size_t i = 0; i < ARRAY_LENGTH(single_fields); i++)
        walk->counts[i] += strcasecmp(name, single_fields[i]) == 0;
    if (strcasecmp(name, single_fields[LENGTH]) == 0)
        note_length(walk, value, length);
    if (strcasecmp(name, single_fields[ENCODING]) == 0)
        note_encoding(walk, value, length);
    if (!is_token(name, strlen(name)) || !is_value(value, length) ||
        (walk->at != NULL && !is_in_place(walk, name, value, length)))
        walk->is_wrong = true;
    return walk->is_wrong ? MHD_NO : MHD_YES;
}

bool http_head_is_plain(const char *target)
{
    return strpbrk(target, "%?#") == NULL;
}

/* Whether the library leaves all of this to us. */
static bool is_lenient(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    if (sscanf(MHD_get_version(), "%u.%u.%u", &major, &minor, &patch) != 3)
        return true;
    return major == 0 && (minor < 9 || (minor == 9 && patch < 77));
}

/* "POST", one blank, the path as it was sent, one blank, the version. */
static bool is_request_line(const struct http_head *head)
{
    return head->url == head->method + strlen(head->method) + 1 &&
           head->version == head->url + strlen(head->url) + 1 &&
           is_line_end(head->version + VERSION_SIZE);
}

static bool is_end(const struct http_head *head, const char *at)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(head->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL && at + 2 == head->method + info->header_size && is_line_end(at);
}

static const char *find_wrong_length(const struct http_head *head, const struct head_walk *walk)
{
    bool has_length = walk->counts[LENGTH] > 0;
    bool has_encoding = walk->counts[ENCODING] > 0;
    if (has_length && walk->length_digits == 0)
        return "Content-Length must be a number";
    if (has_encoding && (has_length || !walk->is_chunked || strcmp(head->version, "HTTP/1.1") != 0))
        return "the request must have one length: Content-Length, or Transfer-Encoding: chunked";
    return NULL;
}

const char *http_head_find_wrong(const struct http_head *head)
{
    bool is_checked = is_lenient();
    struct head_walk walk = {0};
    if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
        return "the version of HTTP must be 1.1 or 1.0";
    if (!head->is_plain)
        return "the path must be written without escapes (%) and without a query";
    if (is_checked && !is_request_line(head))
        return "the first line is not of the form: METHOD PATH HTTP/1.1";
    walk.at = is_checked ? head->version + VERSION_SIZE + 2 : NULL;
    MHD_get_connection_values(head->connection, MHD_HEADER_KIND, look, &walk);
    if (walk.is_wrong || (is_checked && !is_end(head, walk.at)))
        return "each line of the head must be of the form: NAME: VALUE, with CR LF at its end";
    for (size_t i = 0; i < ARRAY_LENGTH(single_fields); i++)
        if (walk.counts[i] > 1)
            return "a field that may be there once is there twice";
    return find_wrong_length(head, &walk);
}
