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

/* Those of the work and home directories, and of the upper layers of folders. */
#define DESCRIPTORS_MAX (2 + JAIL_FOLDERS_MAX)

/* 0 or a negative errno. */
static int send_descriptors(int socket_fd, const int *fds, size_t count)
{
    char byte = 0;
    struct iovec bytes = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))] = {0};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = CMSG_SPACE(count * sizeof(int)),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    ssize_t sent;
    do {
        sent = sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

/*
 * After the program has ended, the parent collects files from the work directory, figures from below
 * the home directory and changes from the upper layers of folders. Until then the descriptors are in
 * flight in the socket and count against the user's limit (unix(7), ETOOMANYREFS). A snippet that
 * exhausts this limit cannot keep other snippets from running, only from returning files; their results say so.
 */
int step_show_work_directory(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int fds[DESCRIPTORS_MAX] = {open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), -1};
    if (fds[0] < 0)
        return -errno;
    fds[1] = open(plan->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fds[1] < 0)
        return -errno;
    memcpy(fds + 2, jail->upper_fds, jail->upper_count * sizeof(int));
    size_t count = 2 + jail->upper_count;
    int r = send_descriptors(plan->files_fd, fds, count);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    close(plan->files_fd);
    return r == -ETOOMANYREFS ? 0 : r;
}
