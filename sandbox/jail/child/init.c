#include "sandbox/jail/child/checkpoints.h"
#include "sandbox/jail/child/code.h"
#include "sandbox/jail/child/commands.h"
#include "sandbox/jail/child/fork_requests.h"
#include "sandbox/jail/child/jail_session.h"
#include "sandbox/jail/child/join.h"
#include "sandbox/jail/child/process_tree.h"
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
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_STACK (32 << 10)
#define STOP_PASSES 3
#define REAPED_AT_ONCE 64

char jail_scratch[JAIL_SCRATCH_SIZE] __attribute__((aligned(16)));

/* Inherited by the program, under that number. */
static int connect_stream(int fd, int number)
{
    return (fd == number ? fcntl(fd, F_SETFD, 0) : dup2(fd, number)) < 0 ? -errno : 0;
}

static int connect_streams(struct jail *jail, const int *fds, size_t count)
{
    jail_note(jail, STEP_STANDARD_STREAMS, -1);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        /* The parent's descriptors are above those of programs; one opened here may be among them. */
        int fd = fds[i] < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fds[i];
        r = fd < 0 ? -errno : connect_stream(fd, (int)i);
    }
    if (r < 0)
        return r;
    /*
     * The control socket must stay open until execve, to report a failure of it; nothing stays open
     * longer.
     */
    return WALL(close_on_exec,
                syscall(SYS_close_range, (unsigned)count, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0)
               ? -errno
               : 0;
}

/*
 * Executes the first program that exists. execve searches in the assembled root, so that the layers
 * need not be searched one by one. Returns only on failure.
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

/* What execve would do, once init knows the program: close what is open. Returns only on failure. */
static int go_on(const struct jail_plan *plan)
{
    unsigned next = STDERR_FILENO + 1;
    struct parent_message begin;
    int r = report_kind(plan, REPORT_READY);
    if (r == 0)
        r = report_await_word(plan, WORD_IDS_MAPPED, &begin);
    if (r < 0)
        return r;
    if (syscall(SYS_close_range, next, UINT_MAX, 0) < 0)
        return -errno;
    plan->go_on();
    return -ECANCELED;
}

/*
 * Without namespaces, the program gets its own user or Landlock domain, so that it cannot reach init; and it does not
 * outlive init. A template gets a domain that it cannot look out of, and the filter of those who join.
 */
static int separate_program(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    jail_note(jail, STEP_PROGRAM_IDS, -1);
    int r = plan->base == BASE_CHROOT ? jail_take_program_ids(plan) : 0;
    if (r < 0)
        return r;
    if (plan->base != BASE_NAMESPACES && prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL) < 0)
        return -errno;
    jail_note(jail, STEP_PROGRAM_LANDLOCK, -1);
    r = plan->base == BASE_HOST ? WALL(restrict_program, jail_restrict_paths(jail)) : 0;
    if (r == 0 && plan->is_template)
        r = WALL(template_domain, jail_restrict_ptrace(jail));
    jail_note(jail, STEP_PROGRAM_FILTER, -1);
    if (r < 0 || !plan->filters_program)
        return r;
    return plan->is_template ? WALL(template_filter, jail_install_filters(plan))
                             : jail_install_filters(plan);
}

int init_prepare_program(struct jail *jail, const char *directory, const int *fds, size_t count)
{
    jail_note(jail, STEP_SESSION, -1);
    umask(022);
    const uint64_t none = 0;
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0)
        return -errno;
    if (WALL(session, setsid() < 0))
        return -errno;
    jail_note(jail, STEP_PROGRAM_DIRECTORY, -1);
    if (directory != NULL && chdir(directory) < 0)
        return -errno;
    int r = separate_program(jail);
    return r < 0 ? r : connect_streams(jail, fds, count);
}

static size_t count_streams(const struct jail_plan *plan)
{
    if (plan->session == SESSION_LIVE)
        return plan->has_calls ? SESSION_CALLS_FD + 1 : SESSION_ANSWERS_FD + 1;
    return plan->has_calls ? FRESH_CALLS_FD + 1 : STDERR_FILENO + 1;
}

/* The cloned process becomes the program. Returns only on failure. */
static int become_program(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    const bool is_live = plan->session == SESSION_LIVE;
    const int fds[] = {plan->has_stdin ? plan->stdin_fd : -1,
                       plan->stdout_fd,
                       plan->stderr_fd,
                       is_live ? plan->channel_fd : plan->results_fd,
                       is_live ? plan->cells_fd : plan->calls_fd,
                       plan->answers_fd,
                       plan->results_fd,
                       plan->calls_fd};
    int r = init_prepare_program(jail, plan->program_directory, fds, count_streams(plan));
    if (r < 0)
        return r;
    jail_note(jail, STEP_EXECUTE, -1);
    if (plan->kind == JAIL_JOINED)
        return go_on(plan);
    r = jail->code == CODE_HANDED_OVER ? report_kind(plan, REPORT_READY) : 0;
    return r < 0 ? r : execute(plan);
}

/* A descriptor reports dead children, so that init can poll it together with the control socket. */
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

/*
 * For a jail without a program: 0, 1 and 2 are free, because all descriptors but the kept ones are
 * closed.
 */
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

STACK_OF_ITS_OWN void init_become_program(struct jail *jail)
{
    int r = become_program(jail);
    report_failure(jail->plan, jail->step, -r, jail->index);
}

STACK_OF_ITS_OWN static int program_main(void *data)
{
    init_become_program(data);
}

/* AddressSanitizer would know frames of the last process on this stack, which has never returned from them. */
#ifdef __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(const volatile void *address, size_t size);
#define forget_frames __asan_unpoison_memory_region
#else
#define forget_frames(stack, size) ((void)(stack))
#endif

/*
 * Everything that can fail in init is done; from here on only the program can fail. Until execve
 * the program shares init's memory (CLONE_VM), with its own stack, while init sleeps (CLONE_VFORK):
 * nothing is copied that execve would discard. fork(3) and posix_spawn(3) would run handlers of the
 * parent's libraries.
 */
int init_clone(int (*main)(void *data), void *data, int sharing)
{
    static char stack[PROGRAM_STACK] __attribute__((aligned(16)));
    forget_frames(stack, sizeof(stack));
    pid_t pid = clone(main, stack + sizeof(stack), sharing | SIGCHLD, data);
    return pid < 0 ? -errno : pid;
}

int init_start_program(struct jail *jail)
{
    if (jail->plan->is_fork)
        return join_start_program(jail);
    int pid = init_clone(program_main, jail, CLONE_FOR_EXECVE);
    if (pid < 0)
        return pid;
    jail->lanes[0].program = pid;
    return 0;
}

int step_start_program(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    if (plan->session == SESSION_FRESH)
        return report_kind(plan, REPORT_READY);
    int r = init_start_program(jail);
    if (r < 0)
        return r;
    if (plan->has_stdin)
        close(plan->stdin_fd);
    if (plan->session == SESSION_LIVE) { /* programs of other lanes will have the pipes, too */
        jail->lanes[0].is_live = true;
        close(plan->channel_fd);
        close(plan->cells_fd);
        close(plan->answers_fd);
        if (plan->has_calls) {
            close(plan->results_fd);
            close(plan->calls_fd);
        }
        return 0;
    }
    /* Only the program and its children may hold the pipes, so that the pipes end with them. */
    close(plan->stdout_fd);
    if (!plan->joins_output)
        close(plan->stderr_fd);
    return 0;
}

/* Whose program this is, or -1. */
static int lane_of(const struct jail *jail, pid_t pid)
{
    for (int i = 0; i < JAIL_LANES_MAX; i++)
        if (jail->lanes[i].program == pid)
            return i;
    return -1;
}

/*
 * Reaps dead children until the program of a lane is among them (its number, and the status) or none is left
 * (-1). The rest is reaped at the end. A program can make children of init as fast as init reaps them: after some,
 * init looks whether the parent is still there.
 */
static int reap_children(struct jail *jail, int *ret_status)
{
    jail->has_more_dead = true;
    for (unsigned reaped = 0; reaped < REAPED_AT_ONCE; reaped++) {
        int status;
        struct rusage usage;
        pid_t next = commands_next_dead(jail);
        pid_t pid =
            next == 0 ? 0 : (pid_t)syscall(SYS_wait4, next, &status, __WALL | WNOHANG, &usage);
        if (pid == 0 || (pid < 0 && errno != EINTR)) {
            jail->has_more_dead = false;
            return -1;
        }
        int lane = pid > 0 ? lane_of(jail, pid) : -1;
        if (lane >= 0) {
            *ret_status = status;
            return lane;
        }
        if (pid > 0) {
            commands_note_end(jail, pid, status, &usage);
            checkpoints_note_end(jail, pid);
        }
    }
    return -1;
}

/* The number of the program is that of its group; init alone reaps it: until then it is no other's. */
static void signal_program(const struct jail *jail, int signal)
{
    if (jail->lanes[0].program > 0)
        kill(-jail->lanes[0].program, signal);
}

/* Reads a word of the parent to a running program, and obeys. True: it asks to stop, or is gone. */
static bool take_word(const struct jail *jail)
{
    struct parent_message message;
    ssize_t length = read(jail->plan->control_fd, &message, sizeof(message));
    if (length < 0 && errno == EINTR)
        return false;
    if (length != (ssize_t)sizeof(message))
        return true;
    if (message.word == WORD_INTERRUPT)
        signal_program(jail, SIGINT);
    else if (message.word == WORD_TERMINATE)
        signal_program(jail, SIGTERM);
    else
        return true;
    return false;
}

/*
 * Waits until a child dies (false) or the parent asks to stop (true). To a prewarmed sandbox, the
 * parent's first word announces the code.
 */
static bool wait_for_event(struct jail *jail)
{
    struct pollfd events[] = {
        {.fd = jail->children_fd, .events = POLLIN},
        {.fd = jail->plan->control_fd, .events = POLLIN},
        {.fd = jail->code_fifo, .events = POLLOUT}, /* poll(2) ignores -1 */
        {.fd = jail->plan->requests_fd, .events = POLLIN},
    };
    int timeout = jail->has_more_dead ? 0 : code_timeout(jail);
    if (poll(events, sizeof(events) / sizeof(events[0]), timeout) < 0)
        return false;
    struct signalfd_siginfo ignored;
    while (read(jail->children_fd, &ignored, sizeof(ignored)) > 0)
        ;
    if (events[3].revents != 0 && !fork_requests_take(jail))
        return true;
    if (events[1].revents != 0 && jail->plan->session != SESSION_NONE)
        return session_take_word(jail);
    if (events[1].revents != 0 &&
        (jail->code == CODE_AWAITED ? !code_has_come(jail) : take_word(jail)))
        return true;
    int r = code_hand_over(jail);
    if (r < 0) {
        /*
         * Before init exits and closes the FIFO, which the program would take for the end of its
         * code.
         */
        init_signal_rest(jail, SIGKILL);
        report_failure(jail->plan, jail->step, -r, jail->index);
    }
    return false;
}

/*
 * Init's current directory is the work directory, which shares one tmpfs with the other writable
 * directories.
 */
static bool is_disk_full(const struct jail *jail)
{
    struct statfs files;
    if (jail->plan->base != BASE_NAMESPACES) /* a file system of the host: disk_watch.h */
        return false;
    return statfs(".", &files) == 0 && (files.f_bfree == 0 || files.f_ffree == 0);
}

void init_report(const struct jail *jail, enum report_kind kind, int lane, int status)
{
    struct child_report report = {
        .kind = kind, .index = lane, .status = status, .disk_full = is_disk_full(jail)};
    if (kind == REPORT_REVIVED)
        report.number = jail->lanes[lane].state;
    getrusage(RUSAGE_CHILDREN, &report.usage);
    report_write(jail->plan, &report);
}

void init_signal_rest(const struct jail *jail, int signal)
{
    const struct jail_plan *plan = jail->plan;
    /* A process further down may continue one that was stopped before it. */
    for (int i = 0; plan->base == BASE_HOST && i < (signal == SIGSTOP ? STOP_PASSES : 1); i++)
        process_tree_signal(signal);
    if (plan->base == BASE_HOST)
        return;
    /* As root of the host, or as its user, it would be sent to everyone. */
    if (plan->base == BASE_NAMESPACES ||
        (plan->own_uid != 0 && syscall(SYS_geteuid) == (long)plan->own_uid))
        kill(-1, signal);
}

/*
 * Kills all processes but init, and reaps them; `ret_status` is that of the program. Without namespaces, what
 * a killed process leaves behind becomes a child of init, and is killed in its turn.
 */
static void end_all(struct jail *jail, int *ret_status)
{
    bool is_shared = jail->plan->base != BASE_NAMESPACES;
    if (is_shared)
        init_signal_rest(jail, SIGSTOP);
    init_signal_rest(jail, SIGKILL);
    for (;;) {
        int status;
        pid_t pid = (pid_t)syscall(SYS_wait4, -1, &status, __WALL, NULL);
        if (pid < 0 && errno != EINTR)
            break;
        if (pid > 0 && pid == jail->lanes[0].program)
            *ret_status = status;
        if (is_shared)
            init_signal_rest(jail, SIGKILL);
    }
}

void init_end_rest(struct jail *jail)
{
    int ignored;
    end_all(jail, &ignored);
}

/*
 * Init itself kills and reaps the remaining processes instead of leaving that to the kernel. This
 * way their resource usage is counted, and the parent can answer before the kernel has dismantled
 * init and the namespaces, which takes a while.
 */
void init_main(struct jail *jail)
{
    int status = SIGKILL;
    int lane;
    do {
        lane = reap_children(jail, &status);
        if (lane >= 0 && session_outlives(jail, lane, status))
            lane = -1;
    } while (lane < 0 && !wait_for_event(jail));
    if (lane < 0)
        end_all(jail, &status);
    else
        init_end_rest(jail);
    init_report(jail, REPORT_ENDED, lane, status);
    sched_yield(); /* to the server, in case it waits for this processor */
    _exit(0);
}
