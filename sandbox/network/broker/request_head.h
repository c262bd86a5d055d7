/*
 * The head of an HTTP/1 request, byte by byte, and the host that it names. It is recognised only in the one
 * form in which every server reads it alike: lines that end with CR LF, a target and fields of allowed
 * characters, no folded field, one Host at most.
 *
 * Side: the broker. Source: RFC 9112, 2 to 5; RFC 9110, 5 and 7.2.
 */
#ifndef SANDBOX_NETWORK_BROKER_REQUEST_HEAD_H
#define SANDBOX_NETWORK_BROKER_REQUEST_HEAD_H

#include "sandbox/network/host_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum head_progress {
    HEAD_INCOMPLETE,
    HEAD_UNKNOWN, /* no such head, whatever follows */
    HEAD_COMPLETE,
};

/* "host" or "host:80" */
struct authority {
    char host[HOST_NAME_SIZE]; /* canonical; "": none */
    uint16_t port;             /* 0: none */
};

enum head_state {
    HEAD_METHOD,
    HEAD_TARGET,
    HEAD_VERSION,
    HEAD_LINE_END,
    HEAD_FIELD_NAME, /* or the end of the head */
    HEAD_FIELD_VALUE,
    HEAD_END,
};

struct request_head {
    enum head_state state;
    size_t at;      /* the next byte; in the end the length of the head */
    size_t begin;   /* of the method, target, version, name or value that is being read */
    bool is_host;   /* the field that is being read */
    bool has_host;  /* one was there */
    bool is_tunnel; /* CONNECT */
    bool is_absolute;
    bool is_options;
    struct authority target; /* of an absolute target and of CONNECT */
    struct authority host;   /* of the field */
    struct authority named;  /* by the two, once the head is complete */
};

/* Reads on: `bytes` are all since the beginning. A head starts with zeros. */
enum head_progress request_head_read(struct request_head *head, const char *bytes, size_t length);

#endif
