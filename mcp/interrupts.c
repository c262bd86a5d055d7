#include "mcp/interrupts.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>

void interrupts_take(struct interrupts *interrupts)
{
    struct signalfd_siginfo information;
    if (read(interrupts->watch.fd, &information, sizeof(information)) == sizeof(information))
        interrupts->arrived(interrupts, (int)information.ssi_signo);
}

static void signal_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    interrupts_take(container_of(watch, struct interrupts, watch));
}

int interrupts_open(struct interrupts *interrupts, struct loop *loop)
{
    interrupts->loop = loop;
    interrupts->watch.ready = signal_ready;
    sigemptyset(&interrupts->blocked);
    sigaddset(&interrupts->blocked, SIGTERM);
    sigaddset(&interrupts->blocked, SIGINT);
    sigaddset(&interrupts->blocked, SIGHUP);
    /* Writing to no reader, or past RLIMIT_FSIZE, is an error of that write and no more. */
    if (sigprocmask(SIG_BLOCK, &interrupts->blocked, NULL) < 0 ||
        signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
        return -errno;
    OWNED_FD int fd = signalfd(-1, &interrupts->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    int r = loop_watch(loop, &interrupts->watch, fd, EPOLLIN);
    if (r == 0)
        fd_take(&fd);
    return r;
}

void interrupts_close(struct interrupts *interrupts)
{
    int fd = interrupts->watch.fd;
    if (fd < 0)
        return;
    loop_unwatch(interrupts->loop, &interrupts->watch);
    fd_close(&fd);
}

void interrupts_die_of(const struct interrupts *interrupts, int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    sigprocmask(SIG_UNBLOCK, &interrupts->blocked, NULL);
}
