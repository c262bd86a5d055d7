/*
 * Internet addresses, and what kind of network they belong to.
 *
 * Side: both; the broker and the program that checks settings. Source: RFC 4291, 2.5.5.2; the IANA
 * registries of special-purpose addresses (RFC 6890).
 */
#ifndef SANDBOX_NETWORK_ADDRESS_H
#define SANDBOX_NETWORK_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv6 address in network order. An IPv4 address is the one that embeds it: ::ffff:a.b.c.d. */
struct address {
    uint8_t bytes[16];
};

#define ADDRESS_TEXT_MAX 46 /* as INET6_ADDRSTRLEN */
#define ADDRESS_BITS 128
#define ADDRESS_IPV4_AT 96 /* bits before an embedded IPv4 address */

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE,  /* private, link-local, multicast, reserved or for documents */
    ADDRESS_HOST,     /* loopback or unspecified: the host itself, wherever it is used */
    ADDRESS_METADATA, /* where clouds serve the credentials of a machine */
};

/* From an IPv4 address in network order. */
struct address address_of_ipv4(uint32_t ipv4);

bool address_is_ipv4(const struct address *address);
/* In network order; address_is_ipv4() must hold. */
uint32_t address_ipv4(const struct address *address);
bool address_is_same(const struct address *one, const struct address *other);

/* The IPv4 address that an address of NAT64 or 6to4 leads to. False: it is neither. */
bool address_embedded(const struct address *address, struct address *ret_ipv4);

/*
 * The kind, by the numbers alone. An address that embeds an IPv4 address (mapped, NAT64, 6to4) is of the
 * kind of that one.
 */
enum address_kind address_kind(const struct address *address);

/* Whether the first `bits` (0..128) of the two are the same. */
bool address_matches(const struct address *address, const struct address *prefix, unsigned bits);

/*
 * Reads an IPv4 address of four decimal numbers, or an IPv6 address without brackets and zone. False: it
 * is neither.
 */
bool address_parse(const char *text, struct address *ret_address);
/*
 * Reads the address that a canonical name below in-addr.arpa or ip6.arpa stands for. False: it stands for
 * none, or for a network. Source: RFC 1035, 3.5; RFC 3596, 2.5.
 */
bool address_parse_reverse(const char *name, struct address *ret_address);
/* "192.0.2.7", "2001:db8::1". */
void address_format(const struct address *address, char text[ADDRESS_TEXT_MAX]);

/* Fills in an AF_INET or AF_INET6 address, and returns its length. */
socklen_t address_to_socket(const struct address *address, uint16_t port,
                            struct sockaddr_storage *ret_socket);
/* False: the family is another. */
bool address_from_socket(const struct sockaddr *socket, struct address *ret_address);

#endif
