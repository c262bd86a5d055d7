/*
 * A connection to a program that speaks D-Bus: one call after the other, each with its answer.
 *
 * Side: parent, in a program of its own (main.c).  Source: D-Bus Specification, "Authentication
 * Protocol" and "Server Addresses".
 */
#ifndef SANDBOX_SCOPE_DBUS_CONNECTION_H
#define SANDBOX_SCOPE_DBUS_CONNECTION_H

#include "sandbox/scope/dbus_message.h"

#include <stdbool.h>

/*
 * Connects to a socket and authenticates as this user. `is_bus`: a bus shared with others, which
 * wants to be greeted. `deadline`: clock_now() nanoseconds. 0 and a descriptor that the caller
 * closes; -ETIMEDOUT; -EPROTO: it does not speak D-Bus or refuses this user; another negative errno.
 */
int dbus_connect_path(const char *path, bool is_bus, int64_t deadline, int *ret_fd);

/* The same by an address; -EPROTONOSUPPORT: it has no socket of this host. */
int dbus_connect_address(const char *address, bool is_bus, int64_t deadline, int *ret_fd);

/*
 * Calls and waits for the answer. 0; -ETIMEDOUT; -ECONNRESET or -EPIPE: the other side went away;
 * -EBADMSG: it sent what is no message; another negative errno.
 */
int dbus_call(int fd, const struct dbus_call *call, const struct dbus_writer *body,
              int64_t deadline, struct dbus_answer *ret_answer);

#endif
