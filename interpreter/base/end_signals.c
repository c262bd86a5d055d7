#include "interpreter/base/end_signals.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>

void end_signals_take(struct end_signals *end_signals)
{
    struct signalfd_siginfo information;
    if (read(end_signals->watch.fd, &information, sizeof(information)) == sizeof(information))
        end_signals->arrived(end_signals, (int)information.ssi_signo);
}

static void signal_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    end_signals_take(container_of(watch, struct end_signals, watch));
}

int end_signals_open(struct end_signals *end_signals, struct loop *loop)
{
    end_signals->loop = loop;
    end_signals->watch.ready = signal_ready;
    sigemptyset(&end_signals->blocked);
    sigaddset(&end_signals->blocked, SIGTERM);
    sigaddset(&end_signals->blocked, SIGINT);
    sigaddset(&end_signals->blocked, SIGHUP);
    /*
     * Writing without a reader, or past RLIMIT_FSIZE, should fail with an error, not kill the
     * process.
     */
    if (sigprocmask(SIG_BLOCK, &end_signals->blocked, NULL) < 0 ||
        signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
        return -errno;
    OWNED_FD int fd = signalfd(-1, &end_signals->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    int r = loop_watch(loop, &end_signals->watch, fd, EPOLLIN);
    if (r == 0)
        fd_take(&fd);
    return r;
}

void end_signals_close(struct end_signals *end_signals)
{
    int fd = end_signals->watch.fd;
    if (fd < 0)
        return;
    loop_unwatch(end_signals->loop, &end_signals->watch);
    fd_close(&fd);
}

void end_signals_die_of(const struct end_signals *end_signals, int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    sigprocmask(SIG_UNBLOCK, &end_signals->blocked, NULL);
}
