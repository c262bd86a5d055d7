/*
 * The numbers of DNS messages, and how they stand in one.
 *
 * Side: the broker. Source: RFC 1035, 4.1.
 */
#ifndef SANDBOX_NETWORK_BROKER_DNS_WIRE_H
#define SANDBOX_NETWORK_BROKER_DNS_WIRE_H

#include <stdint.h>

#define DNS_WIRE_NAME_MAX 255
#define DNS_FLAG_ANSWER 0x8000
#define DNS_FLAG_OPCODE 0x7800
#define DNS_FLAG_TRUNCATED 0x0200
#define DNS_FLAG_RECURSION_DESIRED 0x0100
#define DNS_FLAG_RECURSION_AVAILABLE 0x0080
#define DNS_FLAGS_RCODE 0x000f
#define DNS_POINTER 0xc0 /* instead of the length of a label */
#define DNS_POINTER_TARGET 0x3fff

static inline uint16_t dns_get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* Returns what is behind it. */
static inline uint8_t *dns_put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static inline uint8_t *dns_put32(uint8_t *at, uint32_t value)
{
    return dns_put16(dns_put16(at, value >> 16), value & 0xffff);
}

#endif
