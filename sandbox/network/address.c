#include "sandbox/network/address.h"

#include "sandbox/base/owned.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#define MAPPED(a, b, c, d)                                                                         \
    {                                                                                              \
        {                                                                                          \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d                                   \
        }                                                                                          \
    }

struct range {
    struct address prefix;
    unsigned bits; /* of IPv4 ranges: those behind the 96 */
    enum address_kind kind;
};

/* The first that matches counts. */
static const struct range ipv4_ranges[] = {
    {MAPPED(169, 254, 169, 254), 32, ADDRESS_METADATA},
    {MAPPED(169, 254, 170, 2), 32, ADDRESS_METADATA},
    {MAPPED(100, 100, 100, 200), 32, ADDRESS_METADATA},
    {MAPPED(168, 63, 129, 16), 32, ADDRESS_METADATA},
    {MAPPED(192, 0, 0, 192), 32, ADDRESS_METADATA},
    {MAPPED(0, 0, 0, 0), 8, ADDRESS_HOST},
    {MAPPED(127, 0, 0, 0), 8, ADDRESS_HOST},
    {MAPPED(10, 0, 0, 0), 8, ADDRESS_PRIVATE},
    {MAPPED(100, 64, 0, 0), 10, ADDRESS_PRIVATE},
    {MAPPED(169, 254, 0, 0), 16, ADDRESS_PRIVATE},
    {MAPPED(172, 16, 0, 0), 12, ADDRESS_PRIVATE},
    {MAPPED(192, 0, 0, 0), 24, ADDRESS_PRIVATE},
    {MAPPED(192, 0, 2, 0), 24, ADDRESS_PRIVATE},
    {MAPPED(192, 88, 99, 0), 24, ADDRESS_PRIVATE},
    {MAPPED(192, 168, 0, 0), 16, ADDRESS_PRIVATE},
    {MAPPED(198, 18, 0, 0), 15, ADDRESS_PRIVATE},
    {MAPPED(198, 51, 100, 0), 24, ADDRESS_PRIVATE},
    {MAPPED(203, 0, 113, 0), 24, ADDRESS_PRIVATE},
    {MAPPED(224, 0, 0, 0), 4, ADDRESS_PRIVATE},
    {MAPPED(240, 0, 0, 0), 4, ADDRESS_PRIVATE},
};

static const struct range ipv6_ranges[] = {
    {{{0}}, 127, ADDRESS_HOST}, /* :: and ::1 */
    {{{0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}}, 128, ADDRESS_METADATA},
    {{{0x20, 0x01, 0, 0}}, 23, ADDRESS_PRIVATE}, /* protocols, Teredo among them */
    {{{0x20, 0x01, 0x0d, 0xb8}}, 32, ADDRESS_PRIVATE},
    {{{0x3f, 0xff}}, 20, ADDRESS_PRIVATE},
    {{{0x20}}, 3, ADDRESS_PUBLIC},
    {{{0}}, 0, ADDRESS_PRIVATE},
};

/* Prefixes with an IPv4 address behind them. */
static const struct {
    struct address prefix;
    unsigned bits; /* a multiple of 8 */
} embedding[] = {
    {{{0, 0x64, 0xff, 0x9b}}, 96}, /* NAT64: RFC 6052 */
    {{{0x20, 0x02}}, 16},          /* 6to4: RFC 3056 */
};

static const struct address mapped = MAPPED(0, 0, 0, 0);

struct address address_of_ipv4(uint32_t ipv4)
{
    struct address address = mapped;
    memcpy(address.bytes + ADDRESS_IPV4_AT / 8, &ipv4, sizeof(ipv4));
    return address;
}

bool address_is_ipv4(const struct address *address)
{
    return address_matches(address, &mapped, ADDRESS_IPV4_AT);
}

uint32_t address_ipv4(const struct address *address)
{
    uint32_t ipv4;
    memcpy(&ipv4, address->bytes + ADDRESS_IPV4_AT / 8, sizeof(ipv4));
    return ipv4;
}

bool address_is_same(const struct address *one, const struct address *other)
{
    return memcmp(one->bytes, other->bytes, sizeof(one->bytes)) == 0;
}

bool address_matches(const struct address *address, const struct address *prefix, unsigned bits)
{
    unsigned whole = bits / 8;
    unsigned rest = bits % 8;
    if (memcmp(address->bytes, prefix->bytes, whole) != 0)
        return false;
    return rest == 0 || (address->bytes[whole] ^ prefix->bytes[whole]) >> (8 - rest) == 0;
}

static enum address_kind ipv4_kind(const struct address *address)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ipv4_ranges); i++) {
        const struct range *range = &ipv4_ranges[i];
        if (address_matches(address, &range->prefix, ADDRESS_IPV4_AT + range->bits))
            return range->kind;
    }
    return ADDRESS_PUBLIC;
}

bool address_embedded(const struct address *address, struct address *ret_ipv4)
{
    size_t i = 0;
    while (i < ARRAY_LENGTH(embedding) &&
           !address_matches(address, &embedding[i].prefix, embedding[i].bits))
        i++;
    if (i == ARRAY_LENGTH(embedding))
        return false;
    uint32_t inner;
    memcpy(&inner, address->bytes + embedding[i].bits / 8, sizeof(inner));
    *ret_ipv4 = address_of_ipv4(inner);
    return true;
}

enum address_kind address_kind(const struct address *address)
{
    struct address embedded;
    if (address_is_ipv4(address))
        return ipv4_kind(address);
    if (address_embedded(address, &embedded))
        return ipv4_kind(&embedded);
    size_t i = 0; /* the last range matches all */
    while (!address_matches(address, &ipv6_ranges[i].prefix, ipv6_ranges[i].bits))
        i++;
    return ipv6_ranges[i].kind;
}

bool address_parse(const char *text, struct address *ret_address)
{
    struct in_addr ipv4;
    if (inet_pton(AF_INET, text, &ipv4) == 1) {
        *ret_address = address_of_ipv4(ipv4.s_addr);
        return true;
    }
    return inet_pton(AF_INET6, text, ret_address->bytes) == 1;
}

/* "7.2.0.192" */
static bool parse_reverse_ipv4(const char *text, size_t length, struct address *ret_address)
{
    char copy[INET_ADDRSTRLEN];
    struct in_addr ipv4;
    if (length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET, copy, &ipv4) != 1)
        return false;
    *ret_address = address_of_ipv4(__builtin_bswap32(ipv4.s_addr));
    return true;
}

/* "1.0.0.0 ... 8.b.d.0.1.0.0.2": from the last hexadecimal digit to the first. */
static bool parse_reverse_ipv6(const char *text, size_t length, struct address *ret_address)
{
    static const char digits[] = "0123456789abcdef";
    struct address address = {0};
    const size_t count = 2 * sizeof(address.bytes);
    if (length != 2 * count - 1)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *digit = memchr(digits, text[2 * i], strlen(digits));
        if (digit == NULL || (i + 1 < count && text[2 * i + 1] != '.'))
            return false;
        unsigned value = (unsigned)(digit - digits);
        address.bytes[sizeof(address.bytes) - 1 - i / 2] |=
            (uint8_t)(i % 2 == 0 ? value : value << 4);
    }
    *ret_address = address;
    return true;
}

bool address_parse_reverse(const char *name, struct address *ret_address)
{
    static const char ipv4[] = ".in-addr.arpa";
    static const char ipv6[] = ".ip6.arpa";
    size_t length = strlen(name);
    if (length > strlen(ipv4) && strcmp(name + length - strlen(ipv4), ipv4) == 0)
        return parse_reverse_ipv4(name, length - strlen(ipv4), ret_address);
    if (length > strlen(ipv6) && strcmp(name + length - strlen(ipv6), ipv6) == 0)
        return parse_reverse_ipv6(name, length - strlen(ipv6), ret_address);
    return false;
}

void address_format(const struct address *address, char text[ADDRESS_TEXT_MAX])
{
    if (address_is_ipv4(address))
        inet_ntop(AF_INET, address->bytes + ADDRESS_IPV4_AT / 8, text, ADDRESS_TEXT_MAX);
    else
        inet_ntop(AF_INET6, address->bytes, text, ADDRESS_TEXT_MAX);
}

socklen_t address_to_socket(const struct address *address, uint16_t port,
                            struct sockaddr_storage *ret_socket)
{
    *ret_socket = (struct sockaddr_storage){0};
    if (address_is_ipv4(address)) {
        struct sockaddr_in *socket = (struct sockaddr_in *)ret_socket;
        socket->sin_family = AF_INET;
        socket->sin_port = htons(port);
        socket->sin_addr.s_addr = address_ipv4(address);
        return sizeof(*socket);
    }
    struct sockaddr_in6 *socket = (struct sockaddr_in6 *)ret_socket;
    socket->sin6_family = AF_INET6;
    socket->sin6_port = htons(port);
    memcpy(&socket->sin6_addr, address->bytes, sizeof(address->bytes));
    return sizeof(*socket);
}

bool address_from_socket(const struct sockaddr *socket, struct address *ret_address)
{
    if (socket->sa_family == AF_INET) {
        *ret_address = address_of_ipv4(((const struct sockaddr_in *)socket)->sin_addr.s_addr);
        return true;
    }
    if (socket->sa_family != AF_INET6)
        return false;
    memcpy(ret_address->bytes, &((const struct sockaddr_in6 *)socket)->sin6_addr,
           sizeof(ret_address->bytes));
    return true;
}
