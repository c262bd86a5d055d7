#include "sandbox/jail/child/jail_session.h"

#include "sandbox/jail/child/code.h"
#include "sandbox/jail/child/process_group.h"
#include "sandbox/jail/child/report.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

/* How long members of the group may take to end after an interrupted cell, and between two looks at them. */
#define GROUP_END_MS 240
#define GROUP_LOOK_MS 8

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

/* The number of the program is that of its group; init alone reaps it: until then it is no other's. */
static void interrupt(struct jail *jail, enum parent_word word)
{
    if (jail->program == 0)
        return;
    jail->is_interrupted = true;
    if (word == WORD_INTERRUPT)
        kill(-jail->program, SIGINT);
    else
        process_group_signal(jail->program, 1, SIGINT);
}

static pid_t newest_before_cell(const struct jail *jail)
{
    return jail->newest > 0 ? jail->newest : jail->program;
}

static void insist(const struct jail *jail)
{
    if (jail->program == 0)
        return;
    if (jail->plan->session != SESSION_LIVE) {
        init_signal_rest(jail, SIGKILL);
        return;
    }
    /* First, so that it is pending when the program that is waited for ends. */
    kill(jail->program, SIGURG);
    process_group_signal(jail->program, newest_before_cell(jail), SIGKILL);
}

/* What an interrupted cell leaves: time to end by itself, as what it called has been told to. */
static void end_group(const struct jail *jail)
{
    pid_t after = newest_before_cell(jail);
    for (int passed = 0; passed < GROUP_END_MS; passed += GROUP_LOOK_MS) {
        if (!process_group_signal(jail->program, after, 0))
            return;
        poll(NULL, 0, GROUP_LOOK_MS);
    }
    process_group_signal(jail->program, after, SIGKILL);
}

static void pause_all(struct jail *jail)
{
    bool has_group = jail->program != 0 && jail->plan->session == SESSION_LIVE;
    if (jail->is_interrupted && has_group)
        end_group(jail);
    jail->is_interrupted = false;
    init_signal_rest(jail, SIGSTOP);
    init_report(jail, REPORT_PAUSED, 0);
    /* After the report, for which the server waits. */
    pid_t newest = has_group ? process_group_newest() : 0;
    jail->newest = newest > 0 ? newest : jail->newest;
}

bool session_take_word(struct jail *jail)
{
    struct parent_message message;
    if (!init_read_word(jail, &message))
        return false;
    switch ((enum parent_word)message.word) {
    case WORD_CODE:
        return !take_parcel(jail, &message);
    case WORD_INTERRUPT:
    case WORD_INTERRUPT_CHILDREN:
        interrupt(jail, (enum parent_word)message.word);
        return false;
    case WORD_INSIST:
        insist(jail);
        return false;
    case WORD_PAUSE:
        pause_all(jail);
        return false;
    case WORD_RESUME:
        init_signal_rest(jail, SIGCONT);
        return false;
    case WORD_IDS_MAPPED:
    case WORD_TERMINATE:
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
