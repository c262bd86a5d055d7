#include "sandbox/jail/child/session.h"

#include "sandbox/jail/child/code.h"
#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* False: init is of no more use. */
static bool take_parcel(struct jail *jail, const struct parent_message *message)
{
    int r = code_receive_again(jail, message);
    const struct child_report report = {
        .kind = REPORT_WRITTEN,
        .step = jail->step,
        .error = -r,
        .index = jail->index,
    };
    if (report_write(jail->plan, &report) < 0)
        return false;
    if (r < 0 || jail->plan->session == SESSION_LIVE)
        return true;
    jail_note(jail, STEP_FORK, -1);
    r = init_start_program(jail);
    if (r < 0)
        report_failure(jail->plan, jail->step, -r, jail->index);
    return true;
}

static void interrupt(struct jail *jail)
{
    if (jail->program == 0)
        return;
    /* Init alone reaps it: until then the number is that of no other process. */
    if (jail->plan->session == SESSION_LIVE)
        kill(jail->program, SIGINT);
    else
        init_signal_rest(jail, SIGKILL);
}

bool session_take_word(struct jail *jail)
{
    struct parent_message message;
    ssize_t length = read(jail->plan->control_fd, &message, sizeof(message));
    if (length < 0 && errno == EINTR)
        return false;
    if (length != (ssize_t)sizeof(message))
        return true;
    switch ((enum parent_word)message.word) {
    case WORD_CODE:
        return !take_parcel(jail, &message);
    case WORD_INTERRUPT:
        interrupt(jail);
        return false;
    case WORD_PAUSE:
        init_signal_rest(jail, SIGSTOP);
        init_report(jail, REPORT_PAUSED, 0);
        return false;
    case WORD_RESUME:
        init_signal_rest(jail, SIGCONT);
        return false;
    case WORD_IDS_MAPPED:
    case WORD_STOP:
        break;
    }
    return true;
}

bool session_outlives(struct jail *jail, int status)
{
    if (jail->plan->session != SESSION_FRESH)
        return false;
    jail->program = 0;
    init_end_rest(jail);
    init_report(jail, REPORT_PAUSED, status);
    return true;
}
