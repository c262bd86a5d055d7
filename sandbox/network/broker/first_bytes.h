/*
 * The host that the first bytes of a client name: the server name of a TLS ClientHello, or the Host of an
 * HTTP request.
 *
 * Side: the broker. Source: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3; RFC 9112, 3.2.
 */
#ifndef SANDBOX_NETWORK_BROKER_FIRST_BYTES_H
#define SANDBOX_NETWORK_BROKER_FIRST_BYTES_H

#include "sandbox/network/host_name.h"

#include <stddef.h>
#include <stdint.h>

/* More cannot be looked at. */
#define FIRST_BYTES_SIZE 16384

enum first_bytes {
    FIRST_INCOMPLETE, /* more bytes may name a host */
    FIRST_OTHER,      /* they name none: another protocol, or none is named */
    FIRST_HOST,       /* *ret_host is set, canonical */
    FIRST_STRANGE,    /* they name something that is no host, or several hosts */
};

enum first_bytes first_bytes_read_tls(const uint8_t *bytes, size_t length,
                                      char ret_host[HOST_NAME_SIZE]);
enum first_bytes first_bytes_read_http(const uint8_t *bytes, size_t length,
                                       char ret_host[HOST_NAME_SIZE]);

#endif
