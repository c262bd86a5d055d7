#include "sandbox/network/broker/name_table.h"

#include "sandbox/network/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYNTHETIC_FIRST UINT32_C(0xc6120002) /* 198.18.0.2 */
#define SYNTHETIC_BITS                                                                             \
    UINT32_C(0xfffe0000)  /* of 198.18.0.0/15, with the addresses of the jail itself */
/* A name may change its addresses with each answer. */
#define GIVEN_MAX (4 * JAIL_NAMES_MAX)

struct given_address {
    struct given_address *next;
    uint32_t ipv4;
    struct name *name;
};

static size_t bucket_of_name(const char *text)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619U;
    return (hash ^ hash >> 16) % NAME_BUCKETS;
}

static size_t bucket_of_address(uint32_t ipv4)
{
    uint32_t hash = ipv4 * 2654435761U;
    return (hash >> 16) % NAME_BUCKETS;
}

void name_table_release(struct name_table *names)
{
    for (size_t i = 0; i < NAME_BUCKETS; i++) {
        while (names->by_name[i] != NULL) {
            struct name *name = names->by_name[i];
            names->by_name[i] = name->next_of_name;
            free(name);
        }
        while (names->by_address[i] != NULL) {
            struct given_address *given = names->by_address[i];
            names->by_address[i] = given->next;
            free(given);
        }
    }
    *names = (struct name_table){0};
}

struct name *name_table_get(struct name_table *names, const char *text)
{
    struct name **bucket = &names->by_name[bucket_of_name(text)];
    struct name *name = *bucket;
    while (name != NULL && strcmp(name->text, text) != 0)
        name = name->next_of_name;
    if (name != NULL || names->count == JAIL_NAMES_MAX)
        return name;
    name = calloc(1, sizeof(*name));
    if (name == NULL)
        return NULL;
    strncpy(name->text, text, sizeof(name->text) - 1);
    name->next_of_name = *bucket;
    *bucket = name;
    names->count++;
    return name;
}

struct name *name_table_find(const struct name_table *names, uint32_t ipv4)
{
    const struct given_address *given = names->by_address[bucket_of_address(ipv4)];
    while (given != NULL && given->ipv4 != ipv4)
        given = given->next;
    return given != NULL ? given->name : NULL;
}

/* 0; -ENOMEM; -EEXIST: another name has it. */
static int give(struct name_table *names, struct name *name, uint32_t ipv4)
{
    const struct name *owner = name_table_find(names, ipv4);
    if (owner != NULL)
        return owner == name ? 0 : -EEXIST;
    struct given_address *given = names->given_count < GIVEN_MAX ? malloc(sizeof(*given)) : NULL;
    if (given == NULL)
        return -ENOMEM;
    struct given_address **bucket = &names->by_address[bucket_of_address(ipv4)];
    *given = (struct given_address){.next = *bucket, .ipv4 = ipv4, .name = name};
    *bucket = given;
    names->given_count++;
    return 0;
}

/* By its place among the names, so that none is used twice. */
static int give_synthetic(struct name_table *names, struct name *name)
{
    if (name->synthetic == 0) {
        uint32_t ipv4 = htonl(SYNTHETIC_FIRST + (uint32_t)names->given_count);
        int r = give(names, name, ipv4);
        if (r < 0)
            return r;
        name->synthetic = ipv4;
    }
    name->given[0] = name->synthetic;
    name->given_count = 1;
    return 0;
}

/* Whether a program that connects to the address itself is led to it. */
static bool can_be_given(const struct address *address)
{
    return !reach_stays_inside(address) &&
           (ntohl(address_ipv4(address)) & SYNTHETIC_BITS) != (SYNTHETIC_FIRST & SYNTHETIC_BITS);
}

int name_table_set(struct name_table *names, struct name *name, const struct address *addresses,
                   size_t count, bool always_synthetic)
{
    name->address_count = count < NAME_ADDRESSES_MAX ? count : NAME_ADDRESSES_MAX;
    if (name->address_count > 0)
        memcpy(name->addresses, addresses, name->address_count * sizeof(addresses[0]));
    name->given_count = 0;
    for (size_t i = 0; i < name->address_count && !always_synthetic; i++) {
        if (!can_be_given(&addresses[i]))
            continue;
        uint32_t ipv4 = address_ipv4(&addresses[i]);
        int r = give(names, name, ipv4);
        if (r == -ENOMEM)
            return r;
        if (r == 0)
            name->given[name->given_count++] = ipv4;
    }
    if (name->given_count > 0 || (name->address_count == 0 && !always_synthetic))
        return 0;
    return give_synthetic(names, name);
}
