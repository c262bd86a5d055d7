#include "sandbox/network/broker/first_bytes.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define RECORD_HEADER_SIZE 5
#define RECORD_HANDSHAKE 22
#define HANDSHAKE_HEADER_SIZE 4
#define HANDSHAKE_CLIENT_HELLO 1
#define VERSION_AND_RANDOM_SIZE 34
#define EXTENSION_SERVER_NAME 0
#define NAME_TYPE_HOST 0
#define CONNECT "CONNECT "
#define METHOD_MAX 20

/* Bytes still to be read. A read past the end sets `failed`, and gives zeros. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static const uint8_t *take(struct reader *reader, size_t length)
{
    if (length > reader->left) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *taken = reader->at;
    reader->at += length;
    reader->left -= length;
    return taken;
}

static size_t take_number(struct reader *reader, size_t bytes)
{
    const uint8_t *taken = take(reader, bytes);
    size_t number = 0;
    for (size_t i = 0; taken != NULL && i < bytes; i++)
        number = number << 8 | taken[i];
    return number;
}

/* A vector with a length of so many bytes. */
static struct reader take_vector(struct reader *reader, size_t bytes)
{
    size_t length = take_number(reader, bytes);
    const uint8_t *taken = take(reader, length);
    return (struct reader){.at = taken, .left = taken != NULL ? length : 0};
}

/*
 * Puts the handshake message of one or more records together. False: more bytes are needed, or, with
 * *ret_is_other, the bytes are something else.
 */
static bool join_records(const uint8_t *bytes, size_t length, uint8_t message[FIRST_BYTES_SIZE],
                         size_t *ret_length, bool *ret_is_other)
{
    struct reader reader = {bytes, length, false};
    size_t joined = 0;
    *ret_is_other = false;
    while (reader.left >= RECORD_HEADER_SIZE) {
        const uint8_t *header = take(&reader, RECORD_HEADER_SIZE);
        size_t size = (size_t)(header[3] << 8 | header[4]);
        if (header[0] != RECORD_HANDSHAKE || header[1] != 3) {
            *ret_is_other = true;
            return false;
        }
        size_t here = size < reader.left ? size : reader.left;
        memcpy(message + joined, take(&reader, here),
               here); /* it fits: it is shorter than `bytes` */
        joined += here;
        if (joined >= HANDSHAKE_HEADER_SIZE) {
            size_t wanted =
                (size_t)(message[1] << 16 | message[2] << 8 | message[3]) + HANDSHAKE_HEADER_SIZE;
            if (message[0] != HANDSHAKE_CLIENT_HELLO) {
                *ret_is_other = true;
                return false;
            }
            if (joined >= wanted) {
                *ret_length = wanted;
                return true;
            }
        }
        if (here < size)
            break;
    }
    return false;
}

/* The extension's content: a list of names, of which one is a host. */
static enum first_bytes read_server_name(struct reader extension, char ret_host[HOST_NAME_SIZE])
{
    struct reader names = take_vector(&extension, 2);
    enum first_bytes result = FIRST_OTHER;
    while (names.left > 0 && !names.failed) {
        size_t type = take_number(&names, 1);
        struct reader name = take_vector(&names, 2);
        if (names.failed || type != NAME_TYPE_HOST || result == FIRST_HOST ||
            !host_name_read((const char *)name.at, name.left, ret_host))
            return FIRST_STRANGE;
        result = FIRST_HOST;
    }
    return extension.failed || extension.left > 0 ? FIRST_STRANGE : result;
}

enum first_bytes first_bytes_read_tls(const uint8_t *bytes, size_t length,
                                      char ret_host[HOST_NAME_SIZE])
{
    uint8_t message[FIRST_BYTES_SIZE];
    size_t message_length = 0;
    bool is_other = false;
    if (length > 0 && bytes[0] != RECORD_HANDSHAKE)
        return FIRST_OTHER;
    if (length > FIRST_BYTES_SIZE)
        length = FIRST_BYTES_SIZE;
    if (!join_records(bytes, length, message, &message_length, &is_other)) {
        if (is_other)
            return FIRST_OTHER;
        return length == FIRST_BYTES_SIZE ? FIRST_STRANGE : FIRST_INCOMPLETE;
    }
    struct reader reader = {message, message_length, false};
    take(&reader, HANDSHAKE_HEADER_SIZE + VERSION_AND_RANDOM_SIZE);
    take_vector(&reader, 1); /* session */
    take_vector(&reader, 2); /* ciphers */
    take_vector(&reader, 1); /* compression */
    struct reader extensions = take_vector(&reader, 2);
    enum first_bytes result = FIRST_OTHER;
    while (extensions.left > 0 && !extensions.failed) {
        size_t type = take_number(&extensions, 2);
        struct reader extension = take_vector(&extensions, 2);
        if (type != EXTENSION_SERVER_NAME || extensions.failed)
            continue;
        if (result != FIRST_OTHER) /* a second one */
            return FIRST_STRANGE;
        result = read_server_name(extension, ret_host);
    }
    return extensions.failed ? FIRST_STRANGE : result;
}

struct text {
    const char *at;
    size_t length;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct text trim(struct text text)
{
    while (text.length > 0 && is_space(text.at[0])) {
        text.at++;
        text.length--;
    }
    while (text.length > 0 &&
           (is_space(text.at[text.length - 1]) || text.at[text.length - 1] == '\r'))
        text.length--;
    return text;
}

/* The next line without its end. False: there is no whole line. */
static bool next_line(struct text *rest, struct text *ret_line)
{
    const char *end = memchr(rest->at, '\n', rest->length);
    if (end == NULL)
        return false;
    size_t length = (size_t)(end - rest->at);
    *ret_line = (struct text){rest->at, length};
    rest->at += length + 1;
    rest->length -= length + 1;
    return true;
}

/* "host" or "host:80" becomes the host; all of them must be the same. */
static enum first_bytes add_host(enum first_bytes known, struct text text,
                                 char ret_host[HOST_NAME_SIZE])
{
    char host[HOST_NAME_SIZE];
    const char *colon = memchr(text.at, ':', text.length);
    size_t length = colon != NULL ? (size_t)(colon - text.at) : text.length;
    if (text.length == 0)
        return known;
    if (!host_name_read(text.at, length, host) ||
        (known == FIRST_HOST && strcmp(host, ret_host) != 0))
        return FIRST_STRANGE;
    memcpy(ret_host, host, sizeof(host));
    return FIRST_HOST;
}

/* Of an absolute target, "GET http://host:80/path HTTP/1.1", and of "CONNECT host:80 HTTP/1.1": the authority. */
static enum first_bytes read_target(struct text line, char ret_host[HOST_NAME_SIZE])
{
    const char *space = memchr(line.at, ' ', line.length);
    size_t skipped = (size_t)(space - line.at) + 1;
    struct text target = {line.at + skipped, line.length - skipped};
    if (skipped == strlen(CONNECT) && memcmp(line.at, CONNECT, skipped) == 0) {
        const char *end = memchr(target.at, ' ', target.length);
        size_t size = end != NULL ? (size_t)(end - target.at) : target.length;
        return add_host(FIRST_OTHER, trim((struct text){target.at, size}), ret_host);
    }
    const char *scheme = memmem(target.at, target.length, "://", 3);
    const char *slash = memchr(target.at, '/', target.length);
    if (scheme == NULL || slash == target.at || slash < scheme)
        return FIRST_OTHER;
    const char *authority = scheme + 3;
    size_t left = target.length - (size_t)(authority - target.at);
    size_t length = 0;
    while (length < left && authority[length] != '/' && authority[length] != ' ' &&
           authority[length] != '?' && authority[length] != '#')
        length++;
    if (memchr(authority, '@', length) != NULL)
        return FIRST_STRANGE;
    return add_host(FIRST_OTHER, (struct text){authority, length}, ret_host);
}

/* Whether these may be the first bytes of a request: a method in capitals. */
static bool is_request(const uint8_t *bytes, size_t length, bool *ret_is_whole)
{
    size_t method = 0;
    while (method < length && method <= METHOD_MAX && bytes[method] >= 'A' && bytes[method] <= 'Z')
        method++;
    *ret_is_whole = method < length;
    return method <= METHOD_MAX && (method == length || (method > 0 && bytes[method] == ' '));
}

enum first_bytes first_bytes_read_http(const uint8_t *bytes, size_t length,
                                       char ret_host[HOST_NAME_SIZE])
{
    bool has_method = false;
    if (!is_request(bytes, length, &has_method))
        return FIRST_OTHER;
    if (length > FIRST_BYTES_SIZE)
        length = FIRST_BYTES_SIZE;
    struct text rest = {(const char *)bytes, length};
    struct text line = {0};
    enum first_bytes result = FIRST_OTHER;
    if (has_method && next_line(&rest, &line))
        result = read_target(line, ret_host);
    while (line.at != NULL && result != FIRST_STRANGE && next_line(&rest, &line)) {
        if (trim(line).length == 0)
            return result;
        const char *colon = memchr(line.at, ':', line.length);
        size_t name_length = colon != NULL ? (size_t)(colon - line.at) : 0;
        struct text name = trim((struct text){line.at, name_length});
        if (name.length != strlen("Host") || strncasecmp(name.at, "Host", name.length) != 0)
            continue;
        struct text value = trim((struct text){colon + 1, line.length - name_length - 1});
        result = add_host(result, value, ret_host);
    }
    if (result == FIRST_STRANGE || length == FIRST_BYTES_SIZE)
        return FIRST_STRANGE;
    return FIRST_INCOMPLETE;
}
