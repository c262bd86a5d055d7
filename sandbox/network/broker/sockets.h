/*
 * Small helpers for sockets.
 *
 * Side: the broker.
 */
#ifndef SANDBOX_NETWORK_BROKER_SOCKETS_H
#define SANDBOX_NETWORK_BROKER_SOCKETS_H

#include <sys/socket.h>
#include <unistd.h>

static inline int socket_set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Closes the socket so that the peer gets a reset instead of an end. */
static inline void socket_reset(int fd)
{
    const struct linger at_once = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

#endif
