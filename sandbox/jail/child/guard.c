/*
 * Where no pid namespace ends with init, a guard does what the kernel does there: it is the parent of init, inherits
 * the processes that init leaves behind, and kills them. The server asks it to kill all at once by SIGTERM.
 * It is as far from the program's reach as init is: chroot.c, landlock.c.
 */
#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Blocks all others, too: a terminal or a parent may send some to the whole session of the server. */
static int watch_signals(void)
{
    const uint64_t all = UINT64_MAX;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all)) < 0)
        return -errno;
    int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Whether init has ended. Others that have are reaped, too. */
static bool has_ended(pid_t init)
{
    for (;;) {
        int status;
        pid_t pid = (pid_t)syscall(SYS_wait4, -1, &status, WNOHANG, NULL);
        if (pid == init || (pid < 0 && errno != EINTR))
            return true;
        if (pid == 0)
            return false;
    }
}

/* Nothing here can fail: the guard opens no file and allocates no memory. */
__attribute__((noreturn)) static void guard(struct jail *jail, int signals, pid_t init)
{
    struct signalfd_siginfo signal;
    while (!has_ended(init)) {
        if (read(signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal) &&
            signal.ssi_signo == SIGTERM)
            break;
    }
    init_end_rest(jail);
    _exit(0);
}

int step_start_guard(struct jail *jail)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1UL) < 0 || prctl(PR_SET_DUMPABLE, 0UL) < 0 || setsid() < 0)
        return -errno;
    /* If the server has died, nobody will ever ask for the end. */
    struct pollfd parent = {.fd = jail->plan->control_fd};
    if (poll(&parent, 1, 0) < 0)
        return -errno;
    if ((parent.revents & (POLLHUP | POLLERR)) != 0)
        return -EPIPE;
    int signals = watch_signals();
    if (signals < 0)
        return signals;
    /* As fork(2), without what libraries have registered for it. */
    long init = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (init < 0)
        return -errno;
    bool has_own_ids = jail->plan->base == BASE_CHROOT;
    if (init == 0) {
        const uint64_t none = 0;
        close(signals);
        int r = has_own_ids ? jail_take_init_ids(jail->plan) : 0;
        if (r < 0)
            return r;
        return prctl(PR_SET_CHILD_SUBREAPER, 1UL) < 0 ||
                       syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0
                   ? -errno
                   : 0;
    }
    if (has_own_ids && jail_take_guard_ids(jail->plan) < 0) /* it may always give up an id */
        _exit(EXIT_FAILURE);
    /* The pipes and the control socket must end with init. */
    if (signals > 0)
        syscall(SYS_close_range, 0, signals - 1, 0);
    syscall(SYS_close_range, signals + 1, UINT_MAX, 0);
    guard(jail, signals, (pid_t)init);
}
