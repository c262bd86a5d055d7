#include "images/base/interrupt.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"

#include <stddef.h>
#include <string.h>

static volatile sig_atomic_t caught;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void note(int signal)
{
    caught = signal;
}

void interrupt_install(void)
{
    const struct sigaction action = {.sa_handler = note};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        struct sigaction former;
        /* Keep signals ignored if nohup(1) or a shell ignored them. */
        if (sigaction(signals[i], NULL, &former) == 0 && former.sa_handler == SIG_IGN)
            continue;
        sigaction(signals[i], &action, NULL);
        sigaddset(&set, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* A fetch continues even if nobody reads its progress any more. */
    signal(SIGPIPE, SIG_IGN);
}

int interrupt_signal(void)
{
    /* A pending signal counts, too: signals are blocked except while waiting. */
    sigset_t pending;
    if (caught == 0 && sigpending(&pending) == 0)
        for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
            if (sigismember(&pending, signals[i]) == 1)
                return signals[i];
    return caught;
}

int interrupt_fault(struct fault *fault)
{
    return fault_set(fault, EINTR, "interrupted by %s; nothing of it was kept",
                     signal_name(interrupt_signal()));
}

void interrupt_mask(sigset_t *ret_mask)
{
    sigprocmask(SIG_BLOCK, NULL, ret_mask);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        sigdelset(ret_mask, signals[i]);
}

void interrupt_reset(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        signal(signals[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
