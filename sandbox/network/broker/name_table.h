/*
 * The names that one jail has asked for, and the addresses that it was given for them.
 *
 * An address given out leads back to its name. Where it cannot be the true one, because another name of
 * this jail has it, it is the jail's own or there is no IPv4 address, a synthetic one of 198.18.0.0/16 stands for the name.
 *
 * Side: the broker.
 */
#ifndef SANDBOX_NETWORK_BROKER_NAME_TABLE_H
#define SANDBOX_NETWORK_BROKER_NAME_TABLE_H

#include "sandbox/network/address.h"
#include "sandbox/network/broker/broker_limits.h"
#include "sandbox/network/host_name.h"
#include "sandbox/network/policy.h"

#include <stddef.h>
#include <stdint.h>

struct name {
    struct name *next_of_name; /* in a bucket */
    char text[HOST_NAME_SIZE];
    struct address addresses[NAME_ADDRESSES_MAX]; /* judged; the last answer, in its order */
    size_t address_count;
    uint32_t given[NAME_ADDRESSES_MAX]; /* IPv4 addresses to answer with, network order */
    size_t given_count;
    struct policy_ports denied; /* of an alias */
    uint32_t synthetic; /* network order; 0: none */
    int64_t fresh_until; /* clock_now() until which the answer may be given again; 0: none yet */
    struct question *questions; /* owned by the jail: waiting for an answer */
    struct lookup *lookup; /* under way; NULL: none */
};

#define NAME_BUCKETS 256

struct given_address;

struct name_table {
    struct name *by_name[NAME_BUCKETS];
    struct given_address *by_address[NAME_BUCKETS];
    size_t count;
    size_t given_count;
};

void name_table_release(struct name_table *names);

/* Finds the name, or adds it. NULL: JAIL_NAMES_MAX are there, or no memory. */
struct name *name_table_get(struct name_table *names, const char *text);

/*
 * Takes over the addresses of an answer and decides on those to give out. 0 or -ENOMEM. `always_synthetic`:
 * the name leads elsewhere.
 */
int name_table_set(struct name_table *names, struct name *name, const struct address *addresses,
                   size_t count, bool always_synthetic);

/* The name that this address was given out for; NULL: none. */
struct name *name_table_find(const struct name_table *names, uint32_t ipv4);

#endif
