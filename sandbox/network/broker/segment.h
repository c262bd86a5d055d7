/*
 * TCP segments that open connections, and answers to them.
 *
 * Side: the broker. Source: RFC 791, 3.1; RFC 9293, 3.1 and 3.10.7.1; RFC 792 and RFC 1812, 5.2.7.1.
 */
#ifndef SANDBOX_NETWORK_BROKER_SEGMENT_H
#define SANDBOX_NETWORK_BROKER_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of RFC 1071, in network order. */
uint16_t internet_checksum(const uint8_t *bytes, size_t length);

#define SEGMENT_MAX 120 /* bytes of both headers, with all options */

struct segment {
    uint32_t source, destination; /* network order */
    uint16_t source_port, destination_port; /* host order */
    uint32_t sequence;
    uint8_t bytes[SEGMENT_MAX]; /* both headers */
    size_t length;
};

/* Reads a SYN without ACK, and leaves its data out. False: it is no such packet. */
bool segment_read(const uint8_t *bytes, size_t length, struct segment *ret_segment);

/* Makes the headers whole again, for a raw socket: total length and checksums. */
void segment_seal(struct segment *segment);

#define SEGMENT_RESET_SIZE 40
/* Composes the packet that refuses the connection as a closed port does. */
void segment_write_reset(const struct segment *segment, uint8_t packet[SEGMENT_RESET_SIZE]);

enum unreachable {
    UNREACHABLE_NETWORK = 0,
    UNREACHABLE_HOST = 1,
    UNREACHABLE_PROHIBITED = 13, /* communication administratively prohibited */
};

#define SEGMENT_UNREACHABLE_SIZE 56
/* Composes the ICMP message that the destination is unreachable. */
void segment_write_unreachable(const struct segment *segment, enum unreachable code,
                               uint8_t packet[SEGMENT_UNREACHABLE_SIZE]);

#endif
