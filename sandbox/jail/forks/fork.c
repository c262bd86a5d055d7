#include "sandbox/jail/forks/fork.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/io.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/channels.h"
#include "sandbox/jail/child/fork_server.h"
#include "sandbox/jail/plan_pack.h"
#include "sandbox/jail/proc_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The plan names descriptors by their places among those that are sent. */
static void number_descriptors(struct jail_plan *plan, const int *fds, size_t count)
{
    int *const all[] = {
#define DESCRIPTOR(name) &plan->name,
#include "sandbox/jail/child/jail_plan.def"
    };
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
        size_t place = 0;
        while (place < count && fds[place] != *all[i])
            place++;
        *all[i] = *all[i] >= 0 && place < count ? (int)place : -1;
    }
}

/* A descriptor of memory with the plan. */
static int write_plan(const struct jail_plan *plan, int *ret_fd, size_t *ret_size)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(PLAN_PACK_MAX);
    int r = plan_pack(plan, FORK_PLAN_ADDRESS, &bytes);
    if (r < 0)
        return r;
    *ret_size = bytes.length;
    *ret_fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*ret_fd < 0)
        return -errno;
    r = io_write(*ret_fd, bytes.data, bytes.length);
    /* The template gets it, too, and what it writes there, init would read. */
    int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return r == 0 && fcntl(*ret_fd, F_ADD_SEALS, seals) < 0 ? -errno : r;
}

_Static_assert(FORK_FDS_MAX <= FD_MESSAGE_FDS_MAX, "a request is one message");

static int send_request(int template_fd, const struct jail_plan *plan)
{
    int fds[FORK_FDS_MAX] = {-1};
    if (plan->keep_count >= ARRAY_LENGTH(fds))
        return -E2BIG;
    memcpy(fds + 1, plan->keep, plan->keep_count * sizeof(int));
    struct jail_plan numbered = *plan;
    number_descriptors(&numbered, plan->keep, plan->keep_count);
    struct fork_request request = {.fd_count = (uint32_t)plan->keep_count + 1};
    OWNED_FD int memory = -1;
    size_t size;
    int r = write_plan(&numbered, &memory, &size);
    if (r < 0)
        return r;
    request.plan_size = size;
    fds[0] = memory;
    const struct fd_message message = {&request, sizeof(request), fds, request.fd_count};
    return fd_message_send(template_fd, &message);
}

/* Its parent; 0: it is not there. proc(5), /proc/PID/stat */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[length < 0 ? 0 : length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

/*
 * The kernel vouches for the sender's pid: unix(7), SCM_CREDENTIALS. Who has CAP_SYS_ADMIN in a pid namespace may name
 * another one of it.
 */
static int receive_birth(int control_fd, pid_t *ret_pid)
{
    struct child_report report;
    struct iovec bytes = {&report, sizeof(report)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))] = {0};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(control_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -errno;
    struct ucred credentials;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (length != (ssize_t)sizeof(report) || report.kind != REPORT_BORN || header == NULL ||
        header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
        return -EPROTO;
    memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
    *ret_pid = credentials.pid;
    return credentials.pid > 0 ? 0 : -EPROTO;
}

/* Waits for the init of a jail, or for that of the template to say that there is none. */
static int await_birth(int template_fd, int control_fd, pid_t *ret_pid)
{
    int64_t deadline = clock_now() + FORK_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    for (;;) {
        struct pollfd events[] = {{.fd = control_fd, .events = POLLIN},
                                  {.fd = template_fd, .events = POLLIN}};
        int64_t left = (deadline - clock_now()) / NANOSECONDS_PER_MILLISECOND;
        int count = left > 0 ? poll(events, ARRAY_LENGTH(events), (int)left) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? -errno : -ETIMEDOUT;
        if ((events[0].revents & POLLIN) != 0)
            return receive_birth(control_fd, ret_pid);
        struct fork_reply reply;
        ssize_t length = recv(template_fd, &reply, sizeof(reply), MSG_DONTWAIT);
        return length == (ssize_t)sizeof(reply) && reply.error > 0 ? -reply.error : -EPIPE;
    }
}

/*
 * A child of the server is cloned into its cgroup; the init of a fork waits until it has been moved there, and moves the
 * program: cgroups(7).
 */
static int enter_cgroup(int procs_fd, pid_t pid)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%d", (int)pid);
    return procs_fd >= 0 && write(procs_fd, text, (size_t)length) < 0 ? -errno : 0;
}

static int open_cgroup(int cgroup_fd, int *ret_procs_fd)
{
    if (cgroup_fd < 0)
        return 0;
    OWNED_FD int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_procs_fd = fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FD_MAX + 1);
    return *ret_procs_fd < 0 ? -errno : 0;
}

static int adopt(const struct template_end *template, const struct jail_plan *plan,
                 struct channels *channels, struct sandbox *sandbox)
{
    pid_t pid = 0;
    sandbox->template_pidfd = fcntl(template->pidfd, F_DUPFD_CLOEXEC, 0);
    int r = sandbox->template_pidfd < 0 ? -errno : send_request(template->fd, plan);
    fd_close(&channels->control[1]); /* so that the end of the other side shows */
    if (r == 0)
        r = await_birth(template->fd, sandbox->control_fd, &pid);
    if (r < 0)
        return r;
    OWNED_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
    /* Should the sender have ended, its pid may be that of a stranger, whom the server would kill one day. */
    if (parent_of(pid) != template->init)
        return -EPROTO;
    sandbox->pid = pid;
    sandbox->pidfd = fd_take(&pidfd);
    r = enter_cgroup(plan->cgroup_fd, pid);
    if (r == 0) /* a hostile template has its own lower: sandbox_spawn() */
        r = proc_file_write(pid, "oom_score_adj", "1000", NULL);
    return r < 0 ? r : sandbox_say(sandbox, WORD_IDS_MAPPED);
}

int sandbox_fork(const struct template_end *template, const struct jail_plan *plan,
                 const struct id_map *map, int cgroup_fd, struct sandbox *ret_sandbox,
                 struct fault *fault)
{
    OWNED(channels_close) struct channels channels = CHANNELS_NONE;
    OWNED(sandbox_release) struct sandbox sandbox = SANDBOX_NONE;
    struct jail_plan own = *plan;
    int r = channels_open(&channels, &own, map, fault);
    if (r < 0)
        return r;
    const int on = 1;
    r = open_cgroup(cgroup_fd, &channels.cgroup);
    if (r == 0)
        r = channels_plan(&channels, &own);
    if (r == 0 && setsockopt(channels.control[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        r = -errno;
    sandbox_take_channels(&sandbox, &channels);
    if (r == 0)
        r = adopt(template, &own, &channels, &sandbox);
    if (r < 0)
        return fault_set(fault, -r, "the template cannot make a sandbox: %m");
    *ret_sandbox = sandbox;
    sandbox = SANDBOX_NONE;
    return 0;
}
