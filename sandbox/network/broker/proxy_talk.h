/*
 * Asks a proxy for a connection.
 *
 * Side: the broker. Source: RFC 9110, 9.3.6; RFC 9112, 3.2.3 and 4.
 */
#ifndef SANDBOX_NETWORK_BROKER_PROXY_TALK_H
#define SANDBOX_NETWORK_BROKER_PROXY_TALK_H

#include "sandbox/network/proxy_url.h"

#include <stddef.h>
#include <stdint.h>

#define PROXY_ANSWER_MAX 8192 /* bytes of its head */

enum proxy_result { PROXY_INCOMPLETE, PROXY_CONNECTED, PROXY_REFUSED };

/* Sends the request over a connected socket. `host` is a name or an address. 0 or a negative errno. */
int proxy_ask(int fd, const struct proxy *proxy, const char *host, uint16_t port);

/*
 * Reads the head of an answer: *ret_length bytes, if it is complete. Anything but a status from 200 to 299
 * refuses.
 */
enum proxy_result proxy_answer_read(const char *bytes, size_t length, size_t *ret_length);

/*
 * Takes the head of the answer from the socket, and leaves what follows. *seen is 0 at first: the bytes that
 * did not suffice.
 */
enum proxy_result proxy_answer(int fd, size_t *seen);

#endif
