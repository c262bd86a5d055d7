#include "sandbox/network/broker/request_head.h"

#include <string.h>
#include <strings.h>

#define METHOD_MAX 32
#define HTTP_PORT 80
#define SCHEME "http://"
#define VERSION "HTTP/1." /* and a digit */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Bytes of UTF-8 are sent by some clients, and end nothing. */
static bool is_of_target(char c)
{
    return (uint8_t)c > ' ' && (uint8_t)c != 0x7f;
}

static bool is_of_value(char c)
{
    return is_of_target(c) || c == ' ' || c == '\t';
}

static bool read_port(const char *text, size_t length, uint16_t *ret_port)
{
    unsigned port = 0;
    if (length == 0 || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    *ret_port = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

static bool read_authority(const char *text, size_t length, struct authority *ret_authority)
{
    const char *colon = memchr(text, ':', length);
    size_t host = colon != NULL ? (size_t)(colon - text) : length;
    if (!host_name_read(text, host, ret_authority->host))
        return false;
    return colon == NULL || read_port(colon + 1, length - host - 1, &ret_authority->port);
}

static bool read_method(struct request_head *head, const char *text, size_t length)
{
    head->is_tunnel = length == strlen("CONNECT") && memcmp(text, "CONNECT", length) == 0;
    head->is_options = length == strlen("OPTIONS") && memcmp(text, "OPTIONS", length) == 0;
    return length > 0;
}

/* "/path", "http://host:80/path"; "host:443" of CONNECT, "*" of OPTIONS. */
static bool read_target(struct request_head *head, const char *text, size_t length)
{
    if (head->is_tunnel)
        return read_authority(text, length, &head->target) && head->target.port != 0;
    if (length > 0 && text[0] == '/')
        return true;
    if (length == 1 && text[0] == '*')
        return head->is_options;
    if (length < strlen(SCHEME) || strncasecmp(text, SCHEME, strlen(SCHEME)) != 0)
        return false;
    head->is_absolute = true;
    text += strlen(SCHEME);
    length -= strlen(SCHEME);
    size_t end = 0;
    while (end < length && text[end] != '/')
        end++;
    return read_authority(text, end, &head->target);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool read_host(struct request_head *head, const char *text, size_t length)
{
    if (head->has_host)
        return false;
    head->has_host = true;
    while (length > 0 && is_space(text[0])) {
        text++;
        length--;
    }
    while (length > 0 && is_space(text[length - 1]))
        length--;
    return length == 0 || read_authority(text, length, &head->host);
}

/* Two names must be the same: a server may go by either. */
static bool settle_name(struct request_head *head)
{
    struct authority *target = &head->target;
    struct authority *host = &head->host;
    if (!head->is_tunnel && !head->is_absolute) {
        head->named = *host;
        return true;
    }
    if (target->port == 0)
        target->port = HTTP_PORT;
    if (host->port == 0)
        host->port = head->is_tunnel ? target->port : HTTP_PORT;
    head->named = *target;
    return host->host[0] == '\0' ||
           (strcmp(host->host, target->host) == 0 && host->port == target->port);
}

static void begin(struct request_head *head, enum head_state state)
{
    head->state = state;
    head->begin = head->at + 1;
}

/* The byte of the request line at head->at. False: it may not stand there. */
static bool take_of_request(struct request_head *head, const char *bytes)
{
    char c = bytes[head->at];
    const char *part = bytes + head->begin;
    size_t length = head->at - head->begin;
    switch (head->state) {
    case HEAD_METHOD:
        if (c != ' ')
            return is_token(c) && length < METHOD_MAX;
        begin(head, HEAD_TARGET);
        return read_method(head, part, length);
    case HEAD_TARGET:
        if (c != ' ')
            return is_of_target(c);
        begin(head, HEAD_VERSION);
        return read_target(head, part, length);
    case HEAD_VERSION:
        if (length < strlen(VERSION))
            return c == VERSION[length];
        if (length == strlen(VERSION))
            return c == '0' || c == '1';
        head->state = HEAD_LINE_END;
        return c == '\r';
    default:
        return false;
    }
}

/* The same of the fields. */
static bool take_of_fields(struct request_head *head, const char *bytes)
{
    char c = bytes[head->at];
    const char *part = bytes + head->begin;
    size_t length = head->at - head->begin;
    switch (head->state) {
    case HEAD_LINE_END:
        begin(head, HEAD_FIELD_NAME);
        return c == '\n';
    case HEAD_FIELD_NAME:
        if (length == 0 && c == '\r') {
            head->state = HEAD_END;
            return true;
        }
        if (c != ':')
            return is_token(c);
        head->is_host = length == strlen("Host") && strncasecmp(part, "Host", length) == 0;
        begin(head, HEAD_FIELD_VALUE);
        return length > 0;
    case HEAD_FIELD_VALUE:
        if (c != '\r')
            return is_of_value(c);
        head->state = HEAD_LINE_END;
        return !head->is_host || read_host(head, part, length);
    default:
        return false;
    }
}

enum head_progress request_head_read(struct request_head *head, const char *bytes, size_t length)
{
    for (; head->at < length; head->at++) {
        if (head->state == HEAD_END) {
            bool is_end = bytes[head->at++] == '\n';
            return is_end && settle_name(head) ? HEAD_COMPLETE : HEAD_UNKNOWN;
        }
        if (!(head->state < HEAD_LINE_END ? take_of_request(head, bytes)
                                          : take_of_fields(head, bytes)))
            return HEAD_UNKNOWN;
    }
    return HEAD_INCOMPLETE;
}
