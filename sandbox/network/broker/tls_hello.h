/*
 * The first messages of TLS, which are not encrypted: the client's hello, and whether the server asks for
 * another one.
 *
 * Side: the broker. Source: RFC 8446, 4.1 and 5.1; RFC 5246, 7.4.1; RFC 6066, 3.
 */
#ifndef SANDBOX_NETWORK_BROKER_TLS_HELLO_H
#define SANDBOX_NETWORK_BROKER_TLS_HELLO_H

#include "sandbox/network/host_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_RECORD_HANDSHAKE 22
#define TLS_MESSAGE_HEADER_SIZE 4

enum hello_progress {
    HELLO_INCOMPLETE,
    HELLO_UNKNOWN, /* no such message, whatever follows */
    HELLO_COMPLETE,
};

/*
 * A ClientHello that fills one or more records. It is recognised only with extensions that are known here:
 * another could carry a name that cannot be read, as encrypted_client_hello does.
 */
struct client_hello {
    bool
        is_retry; /* the second one: records of early data and for old middleboxes may precede it */
    size_t at; /* the next record; in the end the length of all */
    size_t begin; /* the first record of the message */
    size_t length; /* of the message, as far as its records have been read */
    uint8_t header[TLS_MESSAGE_HEADER_SIZE];
};

/*
 * Reads on: `bytes` are all since the beginning, at most FIRST_BYTES_SIZE. A hello starts with zeros. With
 * HELLO_COMPLETE *ret_host is the server name, canonical; "": there is none.
 */
enum hello_progress client_hello_read(struct client_hello *hello, const uint8_t *bytes,
                                      size_t length, char ret_host[HOST_NAME_SIZE]);

enum server_answer {
    ANSWER_INCOMPLETE,
    ANSWER_OTHER, /* the handshake goes on, or fails */
    ANSWER_RETRY, /* the client is to send another ClientHello, in the clear as the first */
};

#define SERVER_ANSWER_SIZE 43 /* up to the end of ServerHello.random */

struct server_hello {
    uint8_t bytes[SERVER_ANSWER_SIZE];
    size_t length;
    size_t skipped; /* bytes left of a warning */
};

/* Reads on: `bytes` are the next ones of the server. A hello starts with zeros. */
enum server_answer server_hello_read(struct server_hello *hello, const uint8_t *bytes,
                                     size_t length);

#endif
