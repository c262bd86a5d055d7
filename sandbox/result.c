#include "sandbox/result.h"
#include "sandbox/run_files.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *run_outcome_name(enum run_outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_EXITED] = "exited",
        [OUTCOME_SIGNALED] = "signaled",
        [OUTCOME_TIMED_OUT] = "timed_out",
        [OUTCOME_CPU_LIMIT] = "cpu_limit",
        [OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
        [OUTCOME_PROCESS_LIMIT] = "process_limit",
        [OUTCOME_OUTPUT_LIMIT] = "output_limit",
        [OUTCOME_CANCELLED] = "cancelled",
    };
    return names[outcome];
}

const char *signal_name(int signal)
{
    static _Thread_local char text[32];
    const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;
    if (name != NULL)
        snprintf(text, sizeof(text), "SIG%s", name);
    else if (signal >= SIGRTMIN && signal <= SIGRTMAX)
        snprintf(text, sizeof(text), "SIGRTMIN+%d", signal - SIGRTMIN);
    else
        snprintf(text, sizeof(text), "signal %d", signal);
    return text;
}

void run_result_release(struct run_result *result)
{
    capture_release(&result->out);
    capture_release(&result->err);
    run_files_release(result);
}
