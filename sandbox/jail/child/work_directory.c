#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int step_enter_work_directory(struct jail *jail)
{
    return chdir(jail->plan->work_directory) < 0 ? -errno : 0;
}

/* 0 or a negative errno. */
static int send_descriptors(int socket_fd, const int fds[2])
{
    char byte = 0;
    struct iovec bytes = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(header), fds, 2 * sizeof(int));
    ssize_t sent;
    do {
        sent = sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

/*
 * After the program has ended, the parent collects files from the work directory and figures from
 * below the home directory. Until then the descriptors are in flight in the socket and count
 * against the user's limit (unix(7), ETOOMANYREFS). A snippet that exhausts this limit cannot keep
 * other snippets from running, only from returning files; their results say so.
 */
int step_show_work_directory(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int fds[2] = {open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), -1};
    if (fds[0] < 0)
        return -errno;
    fds[1] = open(plan->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fds[1] < 0)
        return -errno;
    int r = send_descriptors(plan->files_fd, fds);
    close(fds[0]);
    close(fds[1]);
    close(plan->files_fd);
    return r == -ETOOMANYREFS ? 0 : r;
}
