/*
 * The network of a jail that has one: every address is local, and sockets show it to the broker.
 *
 * Side: child. Source: sandbox/network/broker/broker.h has the idea; ip-rule(8), raw(7), rtnetlink(7).
 */
#ifndef SANDBOX_JAIL_CHILD_JAIL_NETWORK_H
#define SANDBOX_JAIL_CHILD_JAIL_NETWORK_H

#include "sandbox/network/link.h"

#include <stdbool.h>

/*
 * routes.c: makes every IPv4 address local, and has the kernel's own answers of closed ports dropped, if it has
 * routing rules. 0 or a negative errno.
 */
int routes_make(bool *ret_has_rules);

/*
 * broker_sockets.c: makes the sockets for the broker. 0; or a negative errno, and then some of them are
 * open, which the end of the child closes.
 */
int broker_sockets_make(int fds[LINK_SOCKETS]);

#endif
