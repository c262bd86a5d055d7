#include "sandbox/jail/sandbox.h"

#include "sandbox/base/fd_message.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/channels.h"
#include "sandbox/jail/child/jail.h"
#include "sandbox/jail/proc_file.h"
#include "sandbox/jail/rootfs.h"
#include "sandbox/jail/setup_error.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child makes the others: step_make_network(), step_make_namespaces(). */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID)

#define GUARD_MAX_MS 10000
#define FORK_END_MAX_MS 1000

int sandbox_send(const struct sandbox *sandbox, const struct parent_message *message)
{
    return send(sandbox->control_fd, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0
               ? -errno
               : 0;
}

int sandbox_say(const struct sandbox *sandbox, enum parent_word word)
{
    const struct parent_message message = {.word = word};
    return sandbox_send(sandbox, &message);
}

/* Does the part of the set-up that only the parent can do, then lets the waiting child continue. */
static int let_go(const struct sandbox *sandbox, const struct id_map *map, struct fault *fault)
{
    int r = map->is_mapped ? id_map_write(map, sandbox->pid, fault) : 0;
    /* If memory runs out, the kernel shall kill the snippet, not a program of the user. */
    if (r == 0)
        r = proc_file_write(sandbox->pid, "oom_score_adj", "1000", fault);
    if (r < 0)
        return r;
    r = sandbox_say(sandbox, WORD_IDS_MAPPED);
    return r < 0 ? fault_set(fault, -r, "cannot start the set-up of a sandbox: %m") : 0;
}

/* If the child failed first, its report has the cause: ids cannot be mapped for a dead child. */
static int explain_by_child(const struct jail_plan *plan, struct sandbox *sandbox, int r,
                            struct fault *fault, const struct fault *own)
{
    struct child_report report;
    if (sandbox_read_report(sandbox, &report) == 0 && report.kind == REPORT_FAILED)
        return setup_error_explain(plan, &report, fault);
    fault_identify(fault, own->id);
    return fault_set(fault, -r, "%s", own->text);
}

/* Containers that refuse namespaces often hide clone3, too. */
static long clone_shared(int *ret_pidfd)
{
    return syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, NULL);
}

static long clone_child(enum jail_base base, int cgroup_fd, int *ret_pidfd)
{
    if (base != BASE_NAMESPACES && cgroup_fd < 0)
        return clone_shared(ret_pidfd);
    struct clone_args arguments = {
        .flags = (base == BASE_NAMESPACES ? NAMESPACES : 0) | CLONE_PIDFD,
        .pidfd = (uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
    };
    if (cgroup_fd >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = (uint64_t)cgroup_fd;
    }
    return syscall(SYS_clone3, &arguments, sizeof(arguments));
}

void sandbox_take_channels(struct sandbox *sandbox, struct channels *channels)
{
    sandbox->control_fd = fd_take(&channels->control[0]);
    sandbox->stdin_fd = fd_take(&channels->in[1]);
    sandbox->stdout_fd = fd_take(&channels->out[0]);
    sandbox->stderr_fd = fd_take(&channels->err[0]);
    sandbox->files_fd = fd_take(&channels->files[0]);
    sandbox->code_fd = fd_take(&channels->code);
    sandbox->requests_fd = fd_take(&channels->requests[0]);
    sandbox->session = session_channels_take(&channels->session);
}

int sandbox_spawn(struct jail_plan *plan, const struct id_map *map, int cgroup_fd,
                  struct sandbox *ret_sandbox, struct fault *fault)
{
    OWNED(channels_close)
    struct channels channels = CHANNELS_NONE;
    OWNED(sandbox_release) struct sandbox sandbox = SANDBOX_NONE;
    int r = 0;
    sandbox.has_guard = plan->base != BASE_NAMESPACES && (plan->kind & JAIL_PROGRAM) != 0;
    if (plan->root_layers == NULL &&
        plan->base == BASE_NAMESPACES) /* the child enters layers before its change of ids */
        r = rootfs_detach(plan->root_path, &channels.root_tree, fault);
    if (r == 0)
        r = channels_open(&channels, plan, map, fault);
    if (r < 0)
        return r;
    if (channels_plan(&channels, plan) < 0)
        return fault_set(fault, ENOMEM, "out of memory for the descriptors of a sandbox");

    long pid = clone_child(plan->base, cgroup_fd, &sandbox.pidfd);
    if (pid < 0)
        return setup_error_explain_clone(errno, fault);
    if (pid == 0)
        jail_main(plan);
    sandbox.pid = (pid_t)pid;
    sandbox_take_channels(&sandbox, &channels);

    struct fault own = {0};
    r = let_go(&sandbox, map, &own);
    if (r < 0)
        return explain_by_child(plan, &sandbox, r, fault, &own);
    *ret_sandbox = sandbox;
    sandbox = SANDBOX_NONE;
    return 0;
}

/* Fills the memory and, unless it is that of a session, seals it against changes. */
static int write_parcel(int fd, const struct parcel *parcel, bool is_session)
{
    if (is_session && (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0))
        return -errno;
    int r = io_write(fd, parcel->bytes, parcel->length);
    if (r < 0 || is_session)
        return r;
    int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

static int send_code(const struct sandbox *sandbox, struct parent_message *message,
                     const struct lane_feed *feed)
{
    const struct fd_message with_fds = {message, sizeof(*message), feed->fds, feed->fd_count};
    return feed->fd_count > 0 ? fd_message_send(sandbox->control_fd, &with_fds)
                              : sandbox_send(sandbox, message);
}

int sandbox_feed(struct sandbox *sandbox, const struct parcel *parcel, struct fault *fault)
{
    return sandbox_feed_lane(sandbox, parcel, &(struct lane_feed){0}, fault);
}

int sandbox_feed_lane(struct sandbox *sandbox, const struct parcel *parcel,
                      const struct lane_feed *feed, struct fault *fault)
{
    bool is_session = sandbox->session.input[0] >= 0;
    int r = write_parcel(sandbox->code_fd, parcel, is_session);
    if (r < 0)
        return fault_set(fault, -r, "cannot copy %zu bytes of code%s for a sandbox: %m%s",
                         parcel->length, parcel->file_count > 0 ? " and files" : "",
                         r == -EFBIG ? "; raise the limit of file size (`ulimit -f`)" : "");
    if (parcel->file_count == 0 && !is_session)
        fd_close(&sandbox->code_fd);
    /*
     * EPIPE, or ECONNRESET if the first word is unread: the child failed earlier, and its report
     * has the cause.
     */
    struct parent_message message = {.word = WORD_CODE,
                                     .lane = feed->lane,
                                     .fd_count = (uint32_t)feed->fd_count,
                                     .file_count = parcel->file_count,
                                     .code_length = parcel->code_length};
    r = send_code(sandbox, &message, feed);
    if (r < 0 && r != -EPIPE && r != -ECONNRESET)
        return fault_set(fault, -r, "cannot hand the code to a sandbox: %m");
    return 0;
}

int sandbox_read_report(struct sandbox *sandbox, struct child_report *ret_report)
{
    struct child_report report;
    ssize_t length = recv(sandbox->control_fd, &report, sizeof(report), MSG_DONTWAIT);
    /* A child that ends without having read all words resets the socket: then its records come second. */
    if (length < 0 && errno == ECONNRESET)
        length = recv(sandbox->control_fd, &report, sizeof(report), MSG_DONTWAIT);
    if (length < 0)
        return errno == EINTR ? -EAGAIN : errno == ECONNRESET ? -EPIPE : -errno;
    if (length != (ssize_t)sizeof(report))
        return -EPIPE;
    *ret_report = report;
    return 0;
}

void sandbox_stop(struct sandbox *sandbox)
{
    if (sandbox_say(sandbox, WORD_STOP) < 0)
        sandbox_kill(sandbox);
}

void sandbox_kill(struct sandbox *sandbox)
{
    if (sandbox->pid > 0)
        syscall(SYS_pidfd_send_signal, sandbox->pidfd, sandbox->has_guard ? SIGTERM : SIGKILL, NULL,
                0);
}

void sandbox_end_template(struct sandbox *sandbox)
{
    if (sandbox->template_pidfd >= 0)
        syscall(SYS_pidfd_send_signal, sandbox->template_pidfd, SIGKILL, NULL, 0);
}

/*
 * The init of a fork is a child of its template: pidfd_open(2). It ends when all processes in its pid namespace have been
 * reaped, which a hostile template can prevent, but not survive.
 */
static void await_end(struct sandbox *sandbox)
{
    struct pollfd end = {.fd = sandbox->pidfd, .events = POLLIN};
    int r;
    while ((r = poll(&end, 1, FORK_END_MAX_MS)) < 0 && errno == EINTR)
        ;
    if (r == 0) {
        sandbox_end_template(sandbox);
        while (poll(&end, 1, -1) < 0 && errno == EINTR)
            ;
    }
    errno = ECHILD;
}

void sandbox_reap(struct sandbox *sandbox, struct rusage *ret_usage)
{
    if (sandbox->pid <= 0)
        return;
    /*
     * Unlike waitid(3), the system call also returns resource usage, of init and all children it
     * reaped.
     */
    struct rusage usage = {0};
    siginfo_t info;
    while (syscall(SYS_waitid, P_PIDFD, sandbox->pidfd, &info, WEXITED, &usage) < 0) {
        if (errno == ECHILD)
            await_end(sandbox);
        if (errno != EINTR)
            break;
    }
    sandbox->pid = 0;
    if (ret_usage != NULL)
        *ret_usage = usage;
}

/* A guard that does not obey is killed: then nobody ends what is left, but this process goes on. */
static void hurry_guard(const struct sandbox *sandbox)
{
    struct pollfd end = {.fd = sandbox->pidfd, .events = POLLIN};
    if (sandbox->pid > 0 && sandbox->has_guard && poll(&end, 1, GUARD_MAX_MS) == 0)
        syscall(SYS_pidfd_send_signal, sandbox->pidfd, SIGKILL, NULL, 0);
}

void sandbox_release(struct sandbox *sandbox)
{
    sandbox_kill(sandbox);
    hurry_guard(sandbox);
    sandbox_reap(sandbox, NULL);
    fd_close(&sandbox->pidfd);
    fd_close(&sandbox->template_pidfd);
    fd_close(&sandbox->control_fd);
    fd_close(&sandbox->stdin_fd);
    fd_close(&sandbox->stdout_fd);
    fd_close(&sandbox->stderr_fd);
    fd_close(&sandbox->files_fd);
    fd_close(&sandbox->code_fd);
    fd_close(&sandbox->requests_fd);
    session_channels_close(&sandbox->session);
}
