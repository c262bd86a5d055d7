#include "sandbox/base/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char space[CMSG_SPACE(FD_MESSAGE_FDS_MAX * sizeof(int))];
};

int fd_message_send(int socket_fd, const struct fd_message *message)
{
    union control control = {0};
    struct iovec bytes = {message->bytes, message->size};
    const struct msghdr sent = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(message->fd_count * sizeof(int)),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&sent);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(message->fd_count * sizeof(int));
    memcpy(CMSG_DATA(header), message->fds, message->fd_count * sizeof(int));
    return sendmsg(socket_fd, &sent, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Those that came: fewer than were sent if the table of descriptors is full. */
static void close_descriptors(struct cmsghdr *header)
{
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
        int fd;
        memcpy(&fd, (char *)header + at, sizeof(fd));
        close(fd);
    }
}

int fd_message_receive(int socket_fd, const struct fd_message *message, int flags)
{
    union control control;
    struct iovec bytes = {message->bytes, message->size};
    struct msghdr received = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(message->fd_count * sizeof(int)),
    };
    ssize_t got = recvmsg(socket_fd, &received, flags | MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return got == 0 ? 0 : -errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&received);
    if ((size_t)got != message->size || header == NULL || header->cmsg_level != SOL_SOCKET ||
        header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(message->fd_count * sizeof(int))) {
        close_descriptors(header);
        return -EPROTO;
    }
    memcpy(message->fds, CMSG_DATA(header), message->fd_count * sizeof(int));
    return 1;
}
