#include "sandbox/base/signal_name.h"

#include "sandbox/base/owned.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* In images, whose programs use glibc; other C libraries keep more signals for themselves. */
#define REALTIME_MIN 34
#define REALTIME_MAX 64

/* Not every C library has sigabbrev_np(3). */
#define NAMED(signal) [signal] = #signal
static const char *const names[] = {
    NAMED(SIGHUP),  NAMED(SIGINT),    NAMED(SIGQUIT), NAMED(SIGILL),  NAMED(SIGTRAP),
    NAMED(SIGABRT), NAMED(SIGBUS),    NAMED(SIGFPE),  NAMED(SIGKILL), NAMED(SIGUSR1),
    NAMED(SIGSEGV), NAMED(SIGUSR2),   NAMED(SIGPIPE), NAMED(SIGALRM), NAMED(SIGTERM),
    NAMED(SIGCHLD), NAMED(SIGSTKFLT), NAMED(SIGCONT), NAMED(SIGSTOP), NAMED(SIGTSTP),
    NAMED(SIGTTIN), NAMED(SIGTTOU),   NAMED(SIGURG),  NAMED(SIGXCPU), NAMED(SIGXFSZ),
    NAMED(SIGPROF), NAMED(SIGVTALRM), NAMED(SIGPOLL), NAMED(SIGPWR),  NAMED(SIGWINCH),
    NAMED(SIGSYS),
};

const char *signal_name(int signal)
{
    static _Thread_local char text[32];
    if (signal > 0 && (size_t)signal < ARRAY_LENGTH(names) && names[signal] != NULL)
        return names[signal];
    if (signal >= REALTIME_MIN && signal <= REALTIME_MAX)
        snprintf(text, sizeof(text), "SIGRTMIN+%d", signal - REALTIME_MIN);
    else
        snprintf(text, sizeof(text), "signal %d", signal);
    return text;
}

int signal_find(const char *name)
{
    bool is_short = strncmp(name, "SIG", 3) != 0;
    for (int signal = 1; signal <= REALTIME_MAX; signal++) {
        const char *each = signal_name(signal);
        if (strncmp(each, "SIG", 3) == 0 && strcmp(each + (is_short ? 3 : 0), name) == 0)
            return signal;
    }
    return 0;
}
