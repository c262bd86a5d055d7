/*
 * Memory in the sockets of a network namespace, as the kernel lists it for each socket.
 *
 * Side: parent.  Source: sock_diag(7); net/unix/diag.c and net/ipv4/inet_diag.c.
 */
#ifndef SANDBOX_LIMITS_SOCKET_DIAG_H
#define SANDBOX_LIMITS_SOCKET_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct socket_sum {
    uint64_t seen;            /* sockets that the kernel listed */
    uint64_t unix_bytes;      /* AF_UNIX: sent and not received yet */
    uint64_t inet_bytes;      /* TCP and UDP: in both directions */
    uint64_t orphan_bytes;    /* AF_UNIX: an upper bound for data whose sender has been closed */
    uint64_t unlisted_peers;  /* AF_UNIX: peers of listed sockets, closed or not accepted yet */
    uint64_t unaccepted;      /* AF_UNIX: connections not accepted yet, which are not listed */
    uint64_t unaccepted_open; /* those whose client is open, and so has one of the unlisted peers */
    bool lacks_unix; /* the kernel cannot list AF_UNIX */
};

/*
 * Sums up all sockets of the caller's network namespace. `unix_max` is the most that one AF_UNIX
 * socket can have sent. Sockets that the kernel cannot list, for want of a module, are not in
 * `seen`.
 */
void socket_diag_sum(uint64_t unix_max, struct socket_sum *ret_sum);

/*
 * Parses netlink(7) messages and adds to `sum`; public for tests. Returns 1 if more will follow, 0
 * after the last, or a negative errno: the kernel's own, or -EBADMSG for a malformed message.
 */
int socket_diag_parse(const void *messages, size_t length, uint64_t unix_max,
                      struct socket_sum *sum);

#endif
