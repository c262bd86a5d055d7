/*
 * What a client says first at ports 80 and 443: a TLS ClientHello or the head of an HTTP/1 request, and the
 * host that it names. Anything else is not recognised.
 *
 * The bytes are those of a snippet: untrusted. They are read as they come, each of them once, and judged only
 * when the hello or the head is complete; what a server could read otherwise than the broker is not
 * recognised.
 *
 * Side: the broker.
 */
#ifndef SANDBOX_NETWORK_BROKER_FIRST_BYTES_H
#define SANDBOX_NETWORK_BROKER_FIRST_BYTES_H

#include "sandbox/network/broker/request_head.h"
#include "sandbox/network/broker/tls_hello.h"
#include "sandbox/network/host_name.h"

#include <stddef.h>
#include <stdint.h>

enum first_bytes {
    FIRST_INCOMPLETE, /* more are needed */
    FIRST_UNKNOWN,    /* neither of the two, whatever follows */
    FIRST_NAMELESS,   /* complete, and names no host */
    FIRST_HOST,       /* complete, and `host` is set, canonical */
};

struct first_reader {
    enum { FIRST_ANY, FIRST_TLS, FIRST_HTTP } protocol;
    size_t length;  /* of the hello or the head, once it is complete */
    char host[HOST_NAME_SIZE];
    uint16_t port;  /* that is named with it; 0: none */
    bool is_tunnel; /* a CONNECT request: what follows is for that host and port */
    struct client_hello hello;
    struct request_head head;
};

/* For a client whose server has asked for another ClientHello: only that will do. */
#define FIRST_READER_RETRY ((struct first_reader){.protocol = FIRST_TLS, .hello.is_retry = true})

/*
 * Reads on. `bytes` are all since the beginning, those of the last call unchanged; a reader that starts
 * with zeros has seen none. To be called until the result is not FIRST_INCOMPLETE, which it is if
 * `length` is FIRST_BYTES_SIZE.
 */
enum first_bytes first_bytes_read(struct first_reader *reader, const uint8_t *bytes, size_t length);

#endif
