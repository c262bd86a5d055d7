#include "sandbox/network/broker/tls_hello.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/broker_limits.h"

#include <string.h>

#define RECORD_HEADER_SIZE 5
#define RECORD_MAX 16384
#define RECORD_ENCRYPTED_MAX (RECORD_MAX + 256)
#define RECORD_CHANGE_CIPHER_SPEC 20
#define RECORD_ALERT 21
#define RECORD_DATA 23
#define VERSION_MAJOR 3
#define VERSION_MINOR_MAX 3
#define MESSAGE_CLIENT_HELLO 1
#define MESSAGE_SERVER_HELLO 2
#define VERSION_AND_RANDOM_SIZE 34
#define RANDOM_SIZE 32
#define SESSION_MAX 32
#define EXTENSION_SERVER_NAME 0
#define NAME_TYPE_HOST 0

/* Bytes still to be read. A read past the end sets `failed`, and gives zeros. */
struct hello_reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static const uint8_t *take(struct hello_reader *reader, size_t length)
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

static size_t take_number(struct hello_reader *reader, size_t bytes)
{
    const uint8_t *taken = take(reader, bytes);
    size_t number = 0;
    for (size_t i = 0; taken != NULL && i < bytes; i++)
        number = number << 8 | taken[i];
    return number;
}

/* A vector with a length of so many bytes. */
static struct hello_reader take_vector(struct hello_reader *reader, size_t bytes)
{
    size_t length = take_number(reader, bytes);
    const uint8_t *taken = take(reader, length);
    return (struct hello_reader){.at = taken, .left = taken != NULL ? length : 0};
}

/* Those of RFC 8701, which clients send so that servers ignore what they do not know. */
static bool is_grease(size_t type)
{
    return (type & 0x0f0f) == 0x0a0a && type >> 8 == (type & 0xff);
}

/* Whether the extension is known to carry no other name. */
static bool is_known(size_t type)
{
    static const struct {
        uint16_t first, last;
    } known[] = {
        {0, 62},        /* the registry of IANA, from server_name to tls_flags */
        {13172, 13172}, /* next_protocol_negotiation */
        {17513, 17513}, /* application_settings */
        {17613, 17613}, /* the same, new */
        {30031, 30032}, /* channel_id */
        {51764, 51764}, /* trust_anchors */
        {65281, 65281}, /* renegotiation_info */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (type >= known[i].first && type <= known[i].last)
            return true;
    }
    return is_grease(type);
}

/* A list of one name, of a host. */
static bool read_server_name(struct hello_reader extension, char ret_host[HOST_NAME_SIZE])
{
    struct hello_reader names = take_vector(&extension, 2);
    size_t type = take_number(&names, 1);
    struct hello_reader name = take_vector(&names, 2);
    return !names.failed && names.left == 0 && extension.left == 0 && type == NAME_TYPE_HOST &&
           host_name_read((const char *)name.at, name.left, ret_host);
}

static bool read_extensions(struct hello_reader extensions, char ret_host[HOST_NAME_SIZE])
{
    bool has_name = false;
    while (extensions.left > 0) {
        size_t type = take_number(&extensions, 2);
        struct hello_reader extension = take_vector(&extensions, 2);
        if (extensions.failed || !is_known(type))
            return false;
        if (type != EXTENSION_SERVER_NAME)
            continue;
        if (has_name || !read_server_name(extension, ret_host))
            return false;
        has_name = true;
    }
    return true;
}

/* The whole message. Extensions may be missing, in which case it ends before them. */
static bool read_message(const uint8_t *message, size_t length, char ret_host[HOST_NAME_SIZE])
{
    struct hello_reader reader = {message, length, false};
    take(&reader, TLS_MESSAGE_HEADER_SIZE);
    const uint8_t *version = take(&reader, VERSION_AND_RANDOM_SIZE);
    struct hello_reader session = take_vector(&reader, 1);
    struct hello_reader ciphers = take_vector(&reader, 2);
    struct hello_reader compressions = take_vector(&reader, 1);
    if (reader.failed || version[0] != VERSION_MAJOR || version[1] == 0 ||
        version[1] > VERSION_MINOR_MAX || session.left > SESSION_MAX || ciphers.left == 0 ||
        ciphers.left % 2 != 0 || compressions.left == 0)
        return false;
    ret_host[0] = '\0';
    if (reader.left == 0)
        return true;
    struct hello_reader extensions = take_vector(&reader, 2);
    return !reader.failed && reader.left == 0 && read_extensions(extensions, ret_host);
}

/* Puts the message together from its records, which have been read before. */
static bool read_records(const struct client_hello *hello, const uint8_t *bytes,
                         char ret_host[HOST_NAME_SIZE])
{
    uint8_t message[FIRST_BYTES_SIZE];
    size_t joined = 0;
    for (size_t at = hello->begin; at < hello->at;) {
        size_t size = (size_t)(bytes[at + 3] << 8 | bytes[at + 4]);
        memcpy(message + joined, bytes + at + RECORD_HEADER_SIZE, size);
        joined += size;
        at += RECORD_HEADER_SIZE + size;
    }
    return read_message(message, joined, ret_host);
}

/* Whether a record of this type may come now, before or within the hello. */
static bool is_expected(const struct client_hello *hello, uint8_t type)
{
    if (type == TLS_RECORD_HANDSHAKE)
        return true;
    return hello->is_retry && hello->length == 0 &&
           (type == RECORD_CHANGE_CIPHER_SPEC || type == RECORD_ALERT || type == RECORD_DATA);
}

/* As much of the next record's header as is there. False: no such record comes. */
static bool is_header(const struct client_hello *hello, const uint8_t *header, size_t length)
{
    if (length > RECORD_HEADER_SIZE)
        length = RECORD_HEADER_SIZE;
    if ((length > 0 && !is_expected(hello, header[0])) ||
        (length > 1 && header[1] != VERSION_MAJOR) || (length > 2 && header[2] > VERSION_MINOR_MAX))
        return false;
    if (length < RECORD_HEADER_SIZE)
        return true;
    size_t size = (size_t)(header[3] << 8 | header[4]);
    size_t max = header[0] == RECORD_DATA ? RECORD_ENCRYPTED_MAX : RECORD_MAX;
    return size > 0 && size <= max;
}

/* A whole record of the message. */
static enum hello_progress take_record(struct client_hello *hello, const uint8_t *content,
                                       size_t size)
{
    for (size_t i = 0; i < size && hello->length + i < TLS_MESSAGE_HEADER_SIZE; i++)
        hello->header[hello->length + i] = content[i];
    hello->length += size;
    const uint8_t *header = hello->header;
    if (header[0] != MESSAGE_CLIENT_HELLO)
        return HELLO_UNKNOWN;
    if (hello->length < TLS_MESSAGE_HEADER_SIZE)
        return HELLO_INCOMPLETE;
    size_t wanted =
        (size_t)(header[1] << 16 | header[2] << 8 | header[3]) + TLS_MESSAGE_HEADER_SIZE;
    if (wanted > FIRST_BYTES_SIZE || hello->length > wanted)
        return HELLO_UNKNOWN;
    return hello->length == wanted ? HELLO_COMPLETE : HELLO_INCOMPLETE;
}

enum hello_progress client_hello_read(struct client_hello *hello, const uint8_t *bytes,
                                      size_t length, char ret_host[HOST_NAME_SIZE])
{
    enum hello_progress progress = HELLO_INCOMPLETE;
    while (progress == HELLO_INCOMPLETE) {
        const uint8_t *header = bytes + hello->at;
        size_t left = length - hello->at;
        if (!is_header(hello, header, left))
            return HELLO_UNKNOWN;
        if (left < RECORD_HEADER_SIZE)
            return HELLO_INCOMPLETE;
        size_t size = (size_t)(header[3] << 8 | header[4]);
        if (left < RECORD_HEADER_SIZE + size)
            return HELLO_INCOMPLETE;
        hello->at += RECORD_HEADER_SIZE + size;
        if (header[0] == TLS_RECORD_HANDSHAKE)
            progress = take_record(hello, header + RECORD_HEADER_SIZE, size);
        else
            hello->begin = hello->at;
    }
    if (progress == HELLO_COMPLETE && !read_records(hello, bytes, ret_host))
        return HELLO_UNKNOWN;
    return progress;
}

/* As far as it is there: a record with a ServerHello that asks for another ClientHello. */
static enum server_answer judge_answer(const struct server_hello *hello)
{
    /* SHA-256 of "HelloRetryRequest": RFC 8446, 4.1.3 */
    static const uint8_t retry[RANDOM_SIZE] = {
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
        0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
        0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
    };
    const uint8_t *bytes = hello->bytes;
    size_t length = hello->length;
    if ((length > 0 && bytes[0] != TLS_RECORD_HANDSHAKE) ||
        (length > RECORD_HEADER_SIZE && bytes[RECORD_HEADER_SIZE] != MESSAGE_SERVER_HELLO))
        return ANSWER_OTHER;
    if (length < SERVER_ANSWER_SIZE)
        return ANSWER_INCOMPLETE;
    return memcmp(bytes + SERVER_ANSWER_SIZE - RANDOM_SIZE, retry, RANDOM_SIZE) == 0 ? ANSWER_RETRY
                                                                                     : ANSWER_OTHER;
}

enum server_answer server_hello_read(struct server_hello *hello, const uint8_t *bytes,
                                     size_t length)
{
    for (size_t i = 0; i < length && hello->length < SERVER_ANSWER_SIZE; i++) {
        if (hello->skipped > 0) {
            hello->skipped--;
            continue;
        }
        hello->bytes[hello->length++] = bytes[i];
        /* A warning, as some servers send for a name that they do not know. */
        if (hello->length == RECORD_HEADER_SIZE && hello->bytes[0] == RECORD_ALERT) {
            hello->skipped = (size_t)(hello->bytes[3] << 8 | hello->bytes[4]);
            hello->length = 0;
        }
    }
    if (hello->length > 0 && hello->length < RECORD_HEADER_SIZE && hello->bytes[0] == RECORD_ALERT)
        return ANSWER_INCOMPLETE;
    return judge_answer(hello);
}
