/*
 * Messages that pass descriptors over a Unix socket.
 *
 * Side: parent.  Source: unix(7), SCM_RIGHTS; cmsg(3).
 */
#ifndef SANDBOX_BASE_FD_MESSAGE_H
#define SANDBOX_BASE_FD_MESSAGE_H

#include <stddef.h>

#define FD_MESSAGE_FDS_MAX 12

struct fd_message {
    void *bytes; /* borrowed */
    size_t size; /* at least 1 */
    int *fds;    /* borrowed */
    size_t fd_count; /* at most FD_MESSAGE_FDS_MAX */
};

/* Sends without blocking. The caller still owns the descriptors. 0 or a negative errno. */
int fd_message_send(int socket_fd, const struct fd_message *message);

/*
 * Receives a message of exactly these numbers of bytes and descriptors; the caller then owns the
 * descriptors. `flags` as for recvmsg(2). 1; 0 at the end of the stream; -EPROTO for a message of
 * another shape, whose descriptors are closed; another negative errno.
 */
int fd_message_receive(int socket_fd, const struct fd_message *message, int flags);

#endif
