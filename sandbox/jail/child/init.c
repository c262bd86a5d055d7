#include "sandbox/jail/child/code.h"
#include "sandbox/jail/child/report.h"
#include "sandbox/jail/child/steps.h"
#include "sandbox/jail/child/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_STACK (32 << 10)

static int take_standard_streams(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    jail_note(jail, STEP_STANDARD_STREAMS, -1);
    /* The parent's descriptors lie above 2; what was opened here may lie at 0 or 1. */
    int empty_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (empty_fd < 0)
        return -errno;
    if (empty_fd == STDIN_FILENO ? fcntl(empty_fd, F_SETFD, 0) < 0
                                 : dup2(empty_fd, STDIN_FILENO) < 0)
        return -errno;
    if (dup2(plan->stdout_fd, STDOUT_FILENO) < 0 || dup2(plan->stderr_fd, STDERR_FILENO) < 0)
        return -errno;
    /* The control socket must live until execve, to report its failure; nothing lives longer. */
    return WALL(close_on_exec, syscall(SYS_close_range, 3, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0)
               ? -errno
               : 0;
}

/*
 * The first of the programs that is there; execve looks, in the root as it is, whatever layers it is
 * made of. Returns only when none could be executed.
 */
static int execute(const struct jail_plan *plan)
{
    int r = -ENOENT;
    for (char *const *program = plan->programs; *program != NULL; program++) {
        plan->argv[0] = *program;
        execve(*program, plan->argv, WALL_IS_LEFT_OUT("environment") ? environ : plan->environment);
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return -errno;
        r = errno == EACCES ? -EACCES : r;
    }
    return r;
}

/* Pid 3 becomes the program; 2 made the network. Returns only when that failed. */
static int become_program(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    jail_note(jail, STEP_SESSION, -1);
    umask(022);
    const uint64_t none = 0;
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0)
        return -errno;
    if (WALL(session, setsid() < 0))
        return -errno;
    int r = take_standard_streams(jail);
    if (r < 0)
        return r;
    jail_note(jail, STEP_EXECUTE, -1);
    r = jail->code == CODE_HANDED_OVER ? report_kind(plan, REPORT_READY) : 0;
    return r < 0 ? r : execute(plan);
}

/* Init hears of dead children by a descriptor, beside the control socket. */
int step_watch_children(struct jail *jail)
{
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child_ended, NULL) < 0)
        return -errno;
    jail->children_fd = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
    return jail->children_fd < 0 ? -errno : 0;
}

/* Of a process that executes nothing: 0, 1 and 2 are free, all descriptors but those kept being closed. */
int step_connect_body(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int empty_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (empty_fd < 0 || dup2(plan->stdout_fd, STDOUT_FILENO) < 0 ||
        dup2(plan->stderr_fd, STDERR_FILENO) < 0)
        return -errno;
    return 0;
}

int step_perform_body(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    umask(022);
    int r = report_kind(plan, REPORT_READY);
    if (r < 0)
        return r;
    _exit(plan->body(plan->body_data));
}

static int program_main(void *data)
{
    struct jail *jail = data;
    int r = become_program(jail);
    report_failure(jail->plan, jail->step, -r, jail->index);
}

/*
 * Whatever can fail in init has been done, so that from here on only the program can. Until its execve
 * it shares init's memory, on a stack of its own, and init sleeps: nothing is copied that execve would
 * throw away. Not fork(3) nor posix_spawn(3): their handlers belong to the parent's libraries.
 */
int step_start_program(struct jail *jail)
{
    static char stack[PROGRAM_STACK] __attribute__((aligned(16)));
    pid_t pid = clone(program_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, jail);
    if (pid < 0)
        return -errno;
    jail->program = pid;
    /* The pipes end when the program and its children have closed them. */
    close(jail->plan->stdout_fd);
    close(jail->plan->stderr_fd);
    return 0;
}

/*
 * Reaps whoever is dead, up to the program: what else has died by then is reaped at the end. Whether
 * the program was among them, with its status.
 */
static bool reap_children(struct jail *jail, int options, int *ret_status)
{
    for (;;) {
        int status;
        pid_t pid = (pid_t)syscall(SYS_wait4, -1, &status, __WALL | options, NULL);
        if (pid == jail->program) {
            *ret_status = status;
            return true;
        }
        if (pid == 0 || (pid < 0 && errno != EINTR))
            return false;
    }
}

/*
 * Until a child has died (false) or the parent wants the end of all (true). The parent's first word to
 * a sandbox that was made ahead is that the code is there.
 */
static bool wait_for_event(struct jail *jail)
{
    struct pollfd events[] = {
        {.fd = jail->children_fd, .events = POLLIN},
        {.fd = jail->plan->control_fd, .events = POLLIN},
        {.fd = jail->code_fifo, .events = POLLOUT}, /* -1 is passed over */
    };
    if (poll(events, sizeof(events) / sizeof(events[0]), code_timeout(jail)) < 0)
        return false;
    struct signalfd_siginfo ignored;
    while (read(jail->children_fd, &ignored, sizeof(ignored)) > 0)
        ;
    if (events[1].revents != 0 && (jail->code != CODE_AWAITED || !code_has_come(jail)))
        return true;
    int r = code_hand_over(jail);
    if (r < 0) {
        /* Before init's end closes the FIFO, which the program would take for the end of its code. */
        kill(-1, SIGKILL);
        report_failure(jail->plan, jail->step, -r, jail->index);
    }
    return false;
}

/* Init is in the work directory, which shares its space with the other writable ones. */
static bool is_disk_full(void)
{
    struct statfs files;
    return statfs(".", &files) == 0 && (files.f_bfree == 0 || files.f_ffree == 0);
}

/*
 * Init kills and reaps what is left itself, and does not leave that to the kernel, so that the
 * resources which all of them used are counted; and so that the parent can answer before init and
 * the namespaces are gone, which takes the kernel a while.
 */
void init_main(struct jail *jail)
{
    int status = SIGKILL;
    bool ended = reap_children(jail, WNOHANG, &status);
    while (!ended) {
        if (wait_for_event(jail))
            break;
        ended = reap_children(jail, WNOHANG, &status);
    }
    kill(-1, SIGKILL);
    while (reap_children(jail, 0, &status))
        ;
    struct child_report report = {
        .kind = REPORT_ENDED, .index = -1, .status = status, .disk_full = is_disk_full()};
    getrusage(RUSAGE_CHILDREN, &report.usage);
    report_write(jail->plan, &report);
    sched_yield(); /* to the server, where it waits for this processor */
    _exit(0);
}
