/*
 * Echo requests of a jail, and the replies to them.
 *
 * Side: the broker. Source: RFC 791, 3.1; RFC 792, "Echo or Echo Reply Message".
 */
#ifndef SANDBOX_NETWORK_BROKER_ECHO_H
#define SANDBOX_NETWORK_BROKER_ECHO_H

#include "sandbox/network/broker/segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ECHO_HEADER_SIZE 8
#define ECHO_MESSAGE_MAX 1480 /* bytes of ICMP: longer requests are not read */

struct echo {
    uint32_t source, destination; /* network order */
    uint16_t id;                  /* network order */
    uint8_t message[ECHO_MESSAGE_MAX]; /* of ICMP */
    size_t length;
};

/* Reads an echo request. False: it is none, or a part of one. */
bool echo_read(const uint8_t *bytes, size_t length, struct echo *ret_echo);

/* As far as an error message quotes it: for segment_write_unreachable(). */
void echo_quote(const uint8_t *bytes, const struct echo *echo, struct segment *ret_segment);

#define ECHO_PACKET_MAX (20 + ECHO_MESSAGE_MAX)
/*
 * Composes the reply of the request's destination: its id, and what is in `message`, an echo or echo reply of
 * ECHO_HEADER_SIZE to ECHO_MESSAGE_MAX bytes. Returns its length.
 */
size_t echo_write_reply(const struct echo *request, const uint8_t *message, size_t length,
                        uint8_t packet[ECHO_PACKET_MAX]);

#endif
