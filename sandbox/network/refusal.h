/*
 * Why the network refused something.
 *
 * Side: both.
 */
#ifndef SANDBOX_NETWORK_REFUSAL_H
#define SANDBOX_NETWORK_REFUSAL_H

#include <stdint.h>

/* The order is that of the names, which programs read; it is also in messages of the broker. */
enum refusal {
    REFUSAL_NONE,
    REFUSAL_NOT_LISTED,
    REFUSAL_DENIED,        /* by a rule of the operator */
    REFUSAL_PRIVATE,       /* no address of the public internet */
    REFUSAL_HOST_ITSELF,   /* an address of the machine that the server runs on */
    REFUSAL_METADATA,      /* of a cloud */
    REFUSAL_NAME_MISMATCH, /* the client named another host over the connection */
    REFUSAL_PROXY,
    REFUSAL_LIMIT,         /* of bytes, streams or names */
    REFUSAL_PROTOCOL,   /* nothing that is recognised at ports 80 and 443 */
    REFUSAL_PORT_TAKEN, /* a program of the jail listens at the port of all addresses */
    REFUSAL_COUNT,
};

/* "not_listed". Static text. */
const char *refusal_name(enum refusal refusal);

#endif
