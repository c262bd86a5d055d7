/*
 * Asks the host's DNS servers, and its /etc/hosts, by c-ares.
 *
 * Side: the broker. Source: ares_getaddrinfo(3), ares_query(3).
 */
#ifndef SANDBOX_NETWORK_BROKER_RESOLVER_H
#define SANDBOX_NETWORK_BROKER_RESOLVER_H

#include "sandbox/base/loop.h"
#include "sandbox/network/address.h"
#include "sandbox/network/broker/aliases.h"
#include "sandbox/network/broker/broker_limits.h"

#include <stddef.h>
#include <stdint.h>

struct resolver;

enum lookup_status { LOOKUP_FOUND, LOOKUP_NO_NAME, LOOKUP_NO_DATA, LOOKUP_FAILED };

/* One question; it frees itself after its callback. */
struct lookup {
    struct resolver *resolver;
    struct lookup **place; /* the owner's pointer to it; NULL: cancelled */
    /* Exactly one of the two is set. */
    void (*found)(struct lookup *lookup, enum lookup_status status);
    void (*answered)(struct lookup *lookup, const uint8_t *answer, size_t length);
    void *data;
    int type;            /* for answered() */
    struct lookup *next; /* of those to be asked again */
    /* For found(): */
    struct address addresses[NAME_ADDRESSES_MAX];
    size_t address_count;
    size_t received_count; /* of all addresses that came */
    struct aliases aliases; /* of any addresses */
    unsigned ttl; /* seconds */
    bool asked_ipv6;
    char name[]; /* canonical */
};

/* 0 or a negative errno. */
int resolver_open(struct loop *loop, struct resolver **ret_resolver);
void resolver_free(struct resolver *resolver);

/*
 * Finds the IPv4 addresses of the name or, if it has none, its IPv6 addresses. *place is set while it is
 * under way. found() may be called from inside. 0 or -ENOMEM,
 * without a resolver, too.
 */
int resolver_find(struct resolver *resolver, const char *name, struct lookup **place,
                  void (*found)(struct lookup *lookup, enum lookup_status status), void *data);

/* Asks for records of another type; answered() gets the whole message, or NULL. The rest is the same. */
int resolver_ask(struct resolver *resolver, const char *name, int type, struct lookup **place,
                 void (*answered)(struct lookup *lookup, const uint8_t *answer, size_t length),
                 void *data);

/* Its callback is not called any more. NULL is fine. */
void lookup_cancel(struct lookup *lookup);

#endif
