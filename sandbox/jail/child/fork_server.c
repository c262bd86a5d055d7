#include "sandbox/jail/child/fork_server.h"

#include "sandbox/jail/child/jail.h"
#include "sandbox/jail/child/join.h"
#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct joining {
    struct join_request request;
    int fds[JOIN_FDS_MAX];
    size_t fd_count;
};

static void (*own_go_on)(void);
static size_t plan_size;

static int fd_at(const struct joining *joining, int32_t place)
{
    return place >= 0 && (size_t)place < joining->fd_count ? joining->fds[place] : -1;
}

/* 1; 0 at the end of the socket; or a negative errno. */
static int receive(int socket_fd, struct joining *joining)
{
    joining->fd_count = JOIN_FDS_MAX;
    ssize_t length = fork_receive(socket_fd, &joining->request, sizeof(joining->request),
                                  joining->fds, &joining->fd_count);
    if (length <= 0)
        return (int)length;
    return length == (ssize_t)sizeof(joining->request) &&
                   joining->fd_count == (size_t)joining->request.fd_count
               ? 1
               : -EPROTO;
}

/* In a program: the plan is for what came before it alone. */
static void go_on_without_plan(void)
{
    munmap((void *)FORK_PLAN_ADDRESS, plan_size);
    own_go_on();
}

static void complete_plan(struct jail_plan *plan, const struct joining *joining)
{
    const struct join_request *request = &joining->request;
    plan->kind = JAIL_JOINED;
    plan->control_fd = fd_at(joining, request->control);
    plan->stdin_fd = fd_at(joining, request->in);
    plan->stdout_fd = fd_at(joining, request->out);
    plan->stderr_fd = fd_at(joining, request->err);
    plan->go_on = go_on_without_plan;
}

static int join(const struct joining *joining)
{
    for (size_t i = 0; i < JOIN_NAMESPACES_COUNT; i++)
        if (setns(fd_at(joining, joining->request.namespaces[i]), 0) < 0)
            return errno;
    return 0;
}

/* What a helper has to tell: 0 or an errno; -1: it was killed. Libraries may have handlers of signals. */
static int await_helper(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Init adopts the program when its parent has ended. Before that it could not reap it; and until the parent has been reaped,
 * too, the program would see it.
 */
static void await_init(pid_t parent)
{
    while (getppid() != 1 || kill(parent, 0) == 0 || errno != ESRCH)
        sched_yield();
}

/*
 * 0 in the fork, or in the template 1 or a negative errno. A process that shares the template's memory joins, another one is
 * born in the jail; its child, the fork, is then adopted by the jail's init. vfork(2): the template waits, and nothing is
 * copied but once. Both use the template's stack, in functions that have returned before the next vfork(2).
 */
/* NOLINTBEGIN(*vfork,*Vfork,*unsafe-functions,cert-msc*) */
static int fork_into(const struct joining *joining)
{
    pid_t helper = vfork();
    if (helper == 0) {
        int error = join(joining);
        if (error != 0)
            _exit(error);
        pid_t born = vfork();
        if (born == 0) {
            int last_pid_fd = fd_at(joining, joining->request.last_pid);
            if (last_pid_fd >= 0 && pwrite(last_pid_fd, JOIN_LAST_PID, 1, 0) < 0)
                _exit(errno);
            pid_t own = getpid();
            pid_t program = fork(); /* with the handlers of libraries that it goes on with */
            if (program == 0) {
                await_init(own);
                return 0;
            }
            _exit(program < 0 ? errno : 0);
        }
        int end = born < 0 ? errno : await_helper(born);
        _exit(end < 0 ? ECHILD : end);
    }
    int error = helper < 0 ? errno : await_helper(helper);
    if (error < 0) /* the other may be left, in this memory */
        _exit(1);
    return error == 0 ? 1 : -error;
}
/* NOLINTEND(*vfork,*Vfork,*unsafe-functions,cert-msc*) */

static void make_fork(const struct joining *joining)
{
    int control_fd = fd_at(joining, joining->request.control);
    int memory_fd = fd_at(joining, joining->request.plan);
    struct jail_plan *plan = fork_map_plan(memory_fd, joining->request.plan_size);
    int r = plan == NULL ? -errno : 0;
    if (plan != NULL) {
        plan_size = joining->request.plan_size;
        complete_plan(plan, joining);
        r = fork_into(joining);
        if (r == 0)
            jail_join(plan);
        munmap(plan, plan_size);
    }
    if (r > 0 || control_fd < 0)
        return;
    const struct child_report report = {
        .kind = REPORT_FAILED, .step = STEP_JOIN, .error = -r, .index = -1};
    send(control_fd, &report, sizeof(report), MSG_NOSIGNAL);
}

static int say_ready(int answers_fd)
{
    const struct fork_reply ready = {.error = 0};
    return write(answers_fd, &ready, sizeof(ready)) < 0 ? -errno : 0;
}

int fork_server_serve(int socket_fd, int answers_fd, void (*go_on)(void))
{
    struct joining joining;
    own_go_on = go_on;
    signal(SIGCHLD, SIG_DFL);
    int r = say_ready(answers_fd);
    while (r == 0) {
        r = receive(socket_fd, &joining);
        if (r <= 0)
            return r;
        make_fork(&joining);
        for (size_t i = 0; i < joining.fd_count; i++)
            close(joining.fds[i]);
        r = 0;
    }
    return r;
}
