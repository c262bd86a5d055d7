#include "sandbox/command_result.h"

#include "sandbox/base/loop.h"
#include "sandbox/limits/limits.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static int64_t nanoseconds_of(const struct timeval *time)
{
    return time->tv_sec * NANOSECONDS_PER_SECOND + time->tv_usec * INT64_C(1000);
}

void command_result_read(const struct child_report *report, struct command_result *ret_result)
{
    int status = report->status;
    bool has_exited = WIFEXITED(status);
    *ret_result = (struct command_result){
        .outcome = has_exited ? OUTCOME_EXITED : OUTCOME_SIGNALED,
        .exit_code = has_exited ? WEXITSTATUS(status) : -1,
        .signal = has_exited ? 0 : WTERMSIG(status),
        .cpu_ns = nanoseconds_of(&report->usage.ru_utime) + nanoseconds_of(&report->usage.ru_stime),
        .peak_memory_bytes = report->usage.ru_maxrss * INT64_C(1024),
    };
}

void command_result_stop(enum run_outcome outcome, struct command_result *result)
{
    result->outcome = outcome;
    result->exit_code = -1;
    result->signal = 0;
}

void command_result_lose(enum run_outcome outcome, struct command_result *ret_result)
{
    bool was_ended = outcome == OUTCOME_EXITED || outcome == OUTCOME_SIGNALED;
    *ret_result = (struct command_result){
        .outcome = was_ended ? OUTCOME_SIGNALED : outcome, /* by init, with all others */
        .exit_code = -1,
        .signal = was_ended ? SIGKILL : 0,
        .is_session_lost = true,
    };
}

void command_result_release(struct command_result *result)
{
    capture_release(&result->out);
    capture_release(&result->err);
    folder_changes_release(&result->appeared);
    free(result->network);
}
