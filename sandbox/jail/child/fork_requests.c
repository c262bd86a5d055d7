#include "sandbox/jail/child/fork_requests.h"

#include "sandbox/jail/child/fork_server.h"
#include "sandbox/jail/child/jail.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct received {
    struct fork_request request;
    int fds[FORK_FDS_MAX];
    size_t fd_count;
};

/* 1; 0 at the end of the socket; or a negative errno. */
static int receive(int socket_fd, struct received *received)
{
    received->fd_count = FORK_FDS_MAX;
    ssize_t length = fork_receive(socket_fd, &received->request, sizeof(received->request),
                                  received->fds, &received->fd_count);
    if (length <= 0)
        return (int)length;
    return length == (ssize_t)sizeof(received->request) && received->fd_count > 0 &&
                   received->fd_count == received->request.fd_count
               ? 1
               : -EPROTO;
}

static void replace_descriptor(int *fd, const struct received *received)
{
    if (*fd >= 0)
        *fd = received->fds[1 + *fd];
}

/* The descriptors that init keeps are ascending: step_close_descriptors(). */
static size_t insert(int *fds, size_t count, int fd)
{
    size_t place = count;
    for (; place > 0 && fds[place - 1] > fd; place--)
        fds[place] = fds[place - 1];
    fds[place] = fd;
    return count + 1;
}

static int complete_plan(struct jail_plan *plan, const struct jail *template,
                         const struct received *received, int *keep)
{
    const struct jail_plan *own = template->plan;
    struct stat root;
    int *const descriptors[] = {
#define DESCRIPTOR(name) &plan->name,
#include "sandbox/jail/child/jail_plan.def"
    };
    for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++)
        replace_descriptor(descriptors[i], received);
    plan->plan_fd = received->fds[0];
    plan->template_fd = own->template_fd;
    plan->store_fd = template->store_fd;
    plan->command_line = own->command_line;
    plan->command_line_size = own->command_line_size;
    size_t count = insert(keep, 0, own->template_fd);
    count = insert(keep, count, template->store_fd);
    for (size_t i = 0; i < received->fd_count; i++)
        count = insert(keep, count, received->fds[i]);
    plan->keep = keep;
    plan->keep_count = count;
    /* What the root of layers is, only this side sees. */
    if (fstatat(template->store_fd, plan->root_path, &root, 0) < 0)
        return -errno;
    plan->root_device = root.st_dev;
    plan->root_inode = root.st_ino;
    return 0;
}

static int make_jail(const struct jail *template, const struct received *received)
{
    int keep[FORK_FDS_MAX + 2];
    struct jail_plan *plan = fork_map_plan(received->fds[0], received->request.plan_size);
    if (plan == NULL)
        return -errno;
    const unsigned long flags = CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD;
    int r = complete_plan(plan, template, received, keep);
    long pid = r < 0 ? r : syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (pid == 0)
        jail_main(plan);
    if (r == 0 && pid < 0)
        r = -errno;
    munmap(plan, received->request.plan_size);
    return r;
}

bool fork_requests_take(const struct jail *template)
{
    int socket_fd = template->plan->requests_fd;
    struct received received;
    int r = receive(socket_fd, &received);
    if (r == 0)
        return false;
    if (r > 0)
        r = make_jail(template, &received);
    for (size_t i = 0; i < received.fd_count; i++)
        close(received.fds[i]);
    return r >= 0 || fork_reply(socket_fd, -r) == 0;
}
