#include "sandbox/network/broker/first_bytes.h"

#include "sandbox/network/broker/broker_limits.h"

#include <string.h>

static enum first_bytes read_hello(struct first_reader *reader, const uint8_t *bytes, size_t length)
{
    switch (client_hello_read(&reader->hello, bytes, length, reader->host)) {
    case HELLO_INCOMPLETE:
        return FIRST_INCOMPLETE;
    case HELLO_UNKNOWN:
        break;
    case HELLO_COMPLETE:
        reader->length = reader->hello.at;
        return reader->host[0] != '\0' ? FIRST_HOST : FIRST_NAMELESS;
    }
    return FIRST_UNKNOWN;
}

static enum first_bytes read_head(struct first_reader *reader, const uint8_t *bytes, size_t length)
{
    struct request_head *head = &reader->head;
    switch (request_head_read(head, (const char *)bytes, length)) {
    case HEAD_INCOMPLETE:
        return FIRST_INCOMPLETE;
    case HEAD_UNKNOWN:
        break;
    case HEAD_COMPLETE:
        reader->length = head->at;
        reader->is_tunnel = head->is_tunnel;
        reader->port = head->named.port;
        memcpy(reader->host, head->named.host, sizeof(reader->host));
        return reader->host[0] != '\0' ? FIRST_HOST : FIRST_NAMELESS;
    }
    return FIRST_UNKNOWN;
}

enum first_bytes first_bytes_read(struct first_reader *reader, const uint8_t *bytes, size_t length)
{
    if (length == 0)
        return FIRST_INCOMPLETE;
    if (length > FIRST_BYTES_SIZE)
        length = FIRST_BYTES_SIZE;
    if (reader->protocol == FIRST_ANY)
        reader->protocol = bytes[0] == TLS_RECORD_HANDSHAKE ? FIRST_TLS : FIRST_HTTP;
    enum first_bytes result = reader->protocol == FIRST_TLS ? read_hello(reader, bytes, length)
                                                            : read_head(reader, bytes, length);
    if (result == FIRST_INCOMPLETE && length == FIRST_BYTES_SIZE)
        return FIRST_UNKNOWN;
    return result;
}
