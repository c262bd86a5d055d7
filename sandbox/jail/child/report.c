#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <unistd.h>

int report_write(const struct jail_plan *plan, const struct child_report *report)
{
    /* write(2), not send(2): every profile that can run a program allows write. */
    for (;;) {
        ssize_t written = write(plan->control_fd, report, sizeof(*report));
        if (written == (ssize_t)sizeof(*report))
            return 0;
        if (written >= 0)
            return -EIO;
        if (errno != EINTR)
            return -errno;
    }
}

int report_kind(const struct jail_plan *plan, enum report_kind kind)
{
    struct child_report report = {.kind = kind, .index = -1};
    return report_write(plan, &report);
}

int report_await_word(const struct jail_plan *plan, enum parent_word word,
                      struct parent_message *ret_message)
{
    struct parent_message message;
    ssize_t length;
    do {
        length = read(plan->control_fd, &message, sizeof(message));
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return -errno;
    if (length != (ssize_t)sizeof(message) || message.word != word)
        return -EPIPE;
    *ret_message = message;
    return 0;
}

void report_failure(const struct jail_plan *plan, enum jail_step step, int error, int index)
{
    struct child_report report = {
        .kind = REPORT_FAILED,
        .step = step,
        .error = error,
        .index = index,
    };
    report_write(plan, &report);
    _exit(EXIT_SETUP_FAILED);
}
