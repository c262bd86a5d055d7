/*
 * Memory in the socket buffers of a jail, which belongs to no process.
 *
 * The number of sockets is cheap to read and gives an upper bound. The exact sum takes longer, and
 * a process of its own, because the kernel lists sockets only from inside their network namespace.
 *
 * Side: parent. Source: proc_pid_net(5), setns(2), socket(7), unix(7), tcp(7).
 */
#ifndef SANDBOX_LIMITS_SOCKET_MEMORY_H
#define SANDBOX_LIMITS_SOCKET_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct socket_memory {
    int sockstat_fd; /* net/sockstat of the jail */
    int user_ns_fd;  /* of the jail; -1 where it could not be opened */
    int net_ns_fd;
};

#define SOCKET_MEMORY_NONE ((struct socket_memory){-1, -1, -1})

struct socket_count {
    uint64_t used;       /* all families, with and without a descriptor */
    uint64_t closing;    /* TCP connections in TIME_WAIT */
    uint64_t inet_bytes; /* TCP and UDP, on the whole machine */
};

void socket_memory_close(struct socket_memory *sockets);

/* False: it could not be read. */
bool socket_memory_count(const struct socket_memory *sockets, struct socket_count *ret_count);

/* The most bytes that these sockets can hold. */
uint64_t socket_memory_bound(const struct socket_count *count);

/*
 * How many bytes the sockets hold. Enters the jail's namespaces and so loses the death signal: call
 * it in a child made for it. Where the kernel cannot list sockets, each counts as full.
 */
uint64_t socket_memory_sum(const struct socket_memory *sockets);

/* Parses /proc/net/sockstat; public for tests. False: malformed. */
bool socket_memory_parse(const char *text, struct socket_count *ret_count);

#endif
