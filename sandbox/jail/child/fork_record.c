/* What both who make jails for forks and who fork need of the records between them. */
#include "sandbox/jail/child/fork_server.h"

#include "sandbox/jail/child/join.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX 13
_Static_assert(FORK_FDS_MAX <= FDS_MAX && JOIN_FDS_MAX <= FDS_MAX, "room for all");

struct jail_plan *fork_map_plan(int memory_fd, size_t size)
{
    void *place = (void *)FORK_PLAN_ADDRESS;
    void *plan =
        mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, memory_fd, 0);
    if (plan == MAP_FAILED)
        return NULL;
    if (plan == place)
        return plan;
    munmap(plan, size); /* a kernel that does not know the flag */
    errno = EEXIST;
    return NULL;
}

ssize_t fork_receive(int socket_fd, void *record, size_t size, int *fds, size_t *fd_count)
{
    struct iovec bytes = {record, size};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen =
            CMSG_LEN(*fd_count * sizeof(int)), /* CMSG_SPACE() may have room for one more */
    };
    ssize_t length;
    do {
        length = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    } while (length < 0 && errno == EINTR);
    *fd_count = 0;
    if (length <= 0)
        return length == 0 ? 0 : -errno;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        *fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(header), *fd_count * sizeof(int));
    }
    return length;
}

int fork_reply(int socket_fd, int error)
{
    const struct fork_reply record = {.error = error};
    return send(socket_fd, &record, sizeof(record), MSG_NOSIGNAL) < 0 ? -errno : 0;
}
