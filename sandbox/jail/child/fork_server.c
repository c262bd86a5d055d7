#include "sandbox/jail/child/fork_server.h"

#include "sandbox/jail/child/jail.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMAND_LINE_MAX 4096

struct received {
    struct fork_request request;
    int fds[FORK_SERVER_FDS_MAX];
    size_t fd_count;
};

static void close_received(const struct received *received)
{
    for (size_t i = 0; i < received->fd_count; i++)
        close(received->fds[i]);
}

/* 1; 0 at the end of the socket; or a negative errno. */
static int receive(int socket_fd, struct received *received)
{
    struct iovec bytes = {&received->request, sizeof(received->request)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(received->fds))];
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    received->fd_count = 0;
    ssize_t length = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    if (length <= 0)
        return length == 0 ? 0 : -errno;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        received->fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(received->fds, CMSG_DATA(header), received->fd_count * sizeof(int));
    }
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

/* The arguments of this program lie before its environment: execve(2), proc(5). */
static void find_command_line(struct jail_plan *plan)
{
    char *begin = program_invocation_name;
    ptrdiff_t size = environ[0] - begin;
    if (environ[0] == NULL || size < 0 || size > COMMAND_LINE_MAX)
        return;
    plan->command_line = begin;
    plan->command_line_size = (size_t)size;
}

static void (*own_go_on)(void);
static size_t plan_size;

/* In a program: the plan is for its init alone. */
static void go_on_without_plan(void)
{
    munmap((void *)FORK_PLAN_ADDRESS, plan_size);
    own_go_on();
}

/* Descriptors that are received come in ascending order, as the lowest free ones: so do those to be kept. */
static void complete_plan(struct jail_plan *plan, const struct received *received,
                          const int *all_but_memory)
{
    struct stat root;
    int *const descriptors[] = {
#define DESCRIPTOR(name) &plan->name,
#include "sandbox/jail/child/jail_plan.def"
    };
    for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++)
        replace_descriptor(descriptors[i], received);
    find_command_line(plan);
    plan->keep = all_but_memory;
    plan->keep_count = received->fd_count - 1;
    /* What "/" is in layers, only this side sees. */
    if (stat(plan->root_path, &root) == 0) {
        plan->root_device = root.st_dev;
        plan->root_inode = root.st_ino;
    }
}

/*
 * Raw clone(2): the child is not to be this interpreter, but an init that makes system calls only. Its fork will be the
 * interpreter, by fork(3).
 */
static int make_fork(const struct received *received)
{
    void *place = (void *)FORK_PLAN_ADDRESS;
    size_t size = plan_size = received->request.plan_size;
    struct jail_plan *plan = mmap(place, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_FIXED_NOREPLACE, received->fds[0], 0);
    if (plan == MAP_FAILED)
        return -errno;
    int r = plan == place ? 0 : -EEXIST; /* a kernel that does not know the flag */
    if (r == 0) {
        complete_plan(plan, received, received->fds + 1);
        plan->fork = fork;
        plan->go_on = go_on_without_plan;
        const unsigned long flags = CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD;
        long pid = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
        if (pid == 0)
            jail_main(plan);
        r = pid < 0 ? -errno : 0;
    }
    munmap(plan, size);
    return r;
}

static int reply(int socket_fd, int error)
{
    const struct fork_reply record = {.error = error};
    return send(socket_fd, &record, sizeof(record), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int fork_server_serve(int socket_fd, void (*go_on)(void))
{
    struct received received;
    own_go_on = go_on;
    /* Nobody waits for the init of a fork: the server sees its end otherwise. wait(2), NOTES */
    signal(SIGCHLD, SIG_IGN);
    int r = reply(socket_fd, 0);
    while (r == 0) {
        r = receive(socket_fd, &received);
        if (r == -EINTR) {
            r = 0;
            continue;
        }
        if (r <= 0)
            return r;
        r = make_fork(&received);
        close_received(&received);
        if (r < 0)
            r = reply(socket_fd, -r);
    }
    return r;
}
