#include "sandbox/jail/child/join.h"
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
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGNALS 64
#define OWN_ID_MAP "1000 1000 1" /* JAIL_UID and JAIL_GID */

int step_close_descriptors(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    unsigned next = 0;
    for (size_t i = 0; i < plan->keep_count; i++) {
        unsigned keep = (unsigned)plan->keep[i];
        if (keep > next && syscall(SYS_close_range, next, keep - 1, 0) < 0)
            return -errno;
        next = keep + 1;
    }
    return syscall(SYS_close_range, next, UINT_MAX, 0) < 0 ? -errno : 0;
}

/*
 * The server blocks some signals and ignores SIGPIPE, and its own parent may have ignored others:
 * the program must inherit none of that. Raw system calls, because glibc's wrapper refuses signals
 * 32 and 33, which glibc uses itself, but which would be inherited like any other.
 */
int step_reset_signals(struct jail *jail)
{
    (void)jail;
    const char default_action[64] = {0}; /* the kernel's struct sigaction is smaller */
    for (int number = 1; number <= KERNEL_SIGNALS; number++) {
        if (number != SIGKILL && number != SIGSTOP &&
            syscall(SYS_rt_sigaction, number, default_action, NULL, KERNEL_SIGNALS / 8) < 0)
            return -errno;
    }
    const uint64_t none = 0;
    return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0 ? -errno : 0;
}

/*
 * The server is not the parent of a fork: it learns the pid from the credentials that the kernel attaches to
 * this message, and answers when the fork is in its cgroup. unix(7)
 */
int step_introduce(struct jail *jail)
{
    struct parent_message message;
    if (!jail->plan->is_fork)
        return 0;
    /* Till it is tied to its parent: so that the server can set its score for the OOM killer, and itself its ids. */
    if (prctl(PR_SET_DUMPABLE, 1UL) < 0)
        return -errno;
    /* The current directory, not its descriptor, is that of the new mount namespace once this has one: unshare(2) */
    if (fchdir(jail->plan->store_fd) < 0)
        return -errno;
    close(jail->plan->store_fd);
    int r = report_kind(jail->plan, REPORT_BORN);
    return r < 0 ? r : report_await_word(jail->plan, WORD_IDS_MAPPED, &message);
}

int step_wait_for_id_map(struct jail *jail)
{
    struct parent_message message;
    if (jail->plan->is_fork)
        return 0;
    return report_await_word(jail->plan, WORD_IDS_MAPPED, &message);
}

/*
 * Layers are named relative to this directory, so that the mount options, which the snippet can
 * read, reveal no path of the host. Must precede the change of ids: only root can reach root's own
 * store.
 */
int step_enter_layers(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    return plan->root_layers != NULL && chdir(plan->root_path) < 0 ? -errno : 0;
}

int step_take_ids(struct jail *jail)
{
    /* Raw system calls: glibc's wrappers would signal threads that exist only in the parent. */
    gid_t gid = jail->plan->gid;
    uid_t uid = jail->plan->uid;
    if (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
        return -errno;
    umask(0);
    return 0;
}

int step_die_with_parent(struct jail *jail)
{
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL) < 0 ||
        WALL(init_not_dumpable, prctl(PR_SET_DUMPABLE, 0UL) < 0))
        return -errno;
    /* If the parent died before the prctl, no signal comes: check. */
    struct pollfd parent = {.fd = jail->plan->control_fd};
    if (poll(&parent, 1, 0) < 0)
        return -errno;
    return (parent.revents & (POLLHUP | POLLERR)) != 0 ? -EPIPE : 0;
}

/*
 * Not by clone3, so that the network namespace comes first. With clone3 the root of the cgroup
 * namespace would also be the server's cgroup, and the run's cgroup a path outside it.
 */
int step_make_namespaces(struct jail *jail)
{
    (void)jail;
    const unsigned long kinds = CLONE_NEWNS | WALL(ipc_namespace, CLONE_NEWIPC) |
                                WALL(uts_namespace, CLONE_NEWUTS) |
                                WALL(cgroup_namespace, CLONE_NEWCGROUP);
    return syscall(SYS_unshare, kinds) < 0 ? -errno : 0;
}

/* Every process can read /proc/1/cmdline, which would show the server's path and options. */
int step_name_init(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    size_t length = strlen(plan->init_name);
    if (length >= plan->command_line_size)
        length = 0;
    if (plan->command_line_size > 0) {
        memset(plan->command_line, 0, plan->command_line_size);
        memcpy(plan->command_line, plan->init_name, length);
    }
    return prctl(PR_SET_NAME, plan->init_name) < 0 ? -errno : 0;
}

/* Init does not need it, and its copy of the server's memory lasts as long as the run. */
int step_forget_environment(struct jail *jail)
{
    (void)jail;
    for (char **variable = environ; *variable != NULL; variable++)
        memset(*variable, 0, strlen(*variable));
    return 0;
}

int step_name_host(struct jail *jail)
{
    const char *name = jail->plan->hostname;
    return sethostname(name, strlen(name)) < 0 || setdomainname("", 0) < 0 ? -errno : 0;
}

/* As execve(2) would: with its name, and so that those who may can look at it, which joining has forbidden. */
int step_appear(struct jail *jail)
{
    return prctl(PR_SET_DUMPABLE, 1UL) < 0 || prctl(PR_SET_NAME, jail->plan->program_name) < 0
               ? -errno
               : 0;
}

static int write_text(int directory_fd, const char *path, const char *text)
{
    int fd = openat(directory_fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return r;
}

/*
 * What is written to the template's /proc is for the pid namespace of who writes. Not every kernel has it: then the pid of
 * the program is another one. join.h
 */
static int reserve_pid(struct jail *jail)
{
    jail->last_pid_fd = open(STORE_PROC "/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (jail->last_pid_fd < 0)
        return errno == ENOENT ? 0 : -errno;
    return write(jail->last_pid_fd, JOIN_HELPER_LAST_PID, strlen(JOIN_HELPER_LAST_PID)) < 0 ? -errno
                                                                                            : 0;
}

/* A user namespace within that of the template: it has one id, and maps it to the same. user_namespaces(7) */
int step_map_ids(struct jail *jail)
{
    if (!jail->plan->is_fork)
        return 0;
    int r = write_text(AT_FDCWD, STORE_PROC "/self/setgroups", "deny");
    if (r == 0)
        r = write_text(AT_FDCWD, STORE_PROC "/self/uid_map", OWN_ID_MAP);
    if (r == 0)
        r = write_text(AT_FDCWD, STORE_PROC "/self/gid_map", OWN_ID_MAP);
    if (r < 0)
        return r;
    jail_note(jail, STEP_RESERVE_PID, -1);
    return reserve_pid(jail);
}

/* Otherwise these would count only against the limits of the host's user. */
int step_limit_user_namespace(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    for (size_t i = 0; i < plan->user_limit_count; i++) {
        jail_note(jail, STEP_USER_LIMIT, (int)i);
        const struct plan_user_limit *limit = &plan->user_limits[i];
        int r = write_text(jail->settings_fd, limit->path, limit->value);
        /* Beside a written /proc they are written to the host's, which may be read-only: docs/tiers.md */
        if (plan->proc_copies != NULL && (r == -EROFS || r == -EACCES))
            continue;
        if (r < 0 && r != -ENOENT) /* ENOENT: a kernel built without the feature */
            return r;
    }
    return 0;
}

/* Under nice(1) it may be low enough already, and raising it again is not permitted. */
int step_lower_priority(struct jail *jail)
{
    int nice = 20 - (int)syscall(SYS_getpriority, PRIO_PROCESS, 0); /* it returns 1 to 40 */
    if (nice >= jail->plan->nice)
        return 0;
    return syscall(SYS_setpriority, PRIO_PROCESS, 0, jail->plan->nice) < 0 ? -errno : 0;
}

int step_set_rlimits(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        jail_note(jail, STEP_RLIMIT, (int)i);
        struct rlimit limit = {plan->rlimits[i].limit, plan->rlimits[i].hard};
        struct rlimit own;
        /* A program that joins has most from its template, and may not set each. */
        if (plan->kind == JAIL_JOINED) {
            if (getrlimit(plan->rlimits[i].resource, &own) < 0)
                return -errno;
            if (own.rlim_cur == limit.rlim_cur && own.rlim_max == limit.rlim_max)
                continue;
        }
        if (setrlimit(plan->rlimits[i].resource, &limit) < 0)
            return -errno;
    }
    return 0;
}
