#include "sandbox/jail/child/jail_session.h"

#include "sandbox/jail/child/checkpoints.h"
#include "sandbox/jail/child/code.h"
#include "sandbox/jail/child/commands.h"
#include "sandbox/jail/child/fork_server.h"
#include "sandbox/jail/child/further_program.h"
#include "sandbox/jail/child/process_group.h"
#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long members of the group may take to end after an interrupted cell, and between two looks at them. */
#define GROUP_END_MS 240
#define GROUP_LOOK_MS 8

#define HEARD_FDS_MAX LANE_FDS_CALLING
_Static_assert(COMMAND_FDS <= HEARD_FDS_MAX, "there is room for a command");

/* What comes with a word. */
struct heard {
    struct parent_message message;
    int fds[HEARD_FDS_MAX];
    size_t fd_count;
};

static struct jail_lane *lane_of(struct jail *jail, const struct parent_message *message)
{
    return &jail->lanes[message->lane % JAIL_LANES_MAX];
}

/* The program of a further lane, with its own descriptors beside the pipes of the session. */
static int start_further(struct jail *jail, const struct heard *heard)
{
    const int *fds = heard->fds;
    struct jail_lane *lane = lane_of(jail, &heard->message);
    const int streams[] = {
        fds[1], jail->plan->stdout_fd, jail->plan->stderr_fd, fds[2], fds[3], fds[4], fds[5],
        fds[6]};
    const bool is_live = heard->fd_count >= LANE_FDS_LIVE;
    /* What came beside text and stdin follows the standard streams. */
    const struct further_program start = {fds[0], streams,
                                          STDERR_FILENO + 1 + heard->fd_count - LANE_FDS_FRESH};
    jail_note(jail, STEP_FORK, -1);
    if (heard->fd_count != heard->message.fd_count)
        return -EBADMSG; /* a profile without recvmsg(2), or no descriptor is free */
    int pid = further_program_start(jail, &start);
    if (pid > 0)
        *lane = (struct jail_lane){.program = pid, .is_live = is_live};
    return pid < 0 ? pid : 0;
}

/* False: init is of no more use. */
static bool take_parcel(struct jail *jail, const struct heard *heard)
{
    const struct parent_message *message = &heard->message;
    int r = code_receive_again(jail, message);
    if (r == 0 && message->fd_count > 0)
        r = start_further(jail, heard);
    const struct child_report report = {
        .kind = REPORT_WRITTEN,
        .step = jail->step,
        .error = -r,
        .index = jail->index,
    };
    if (report_write(jail->plan, &report) < 0)
        return false;
    if (r < 0 || jail->plan->session == SESSION_LIVE || message->lane != 0)
        return true;
    jail_note(jail, STEP_FORK, -1);
    r = init_start_program(jail);
    if (r < 0)
        report_failure(jail->plan, jail->step, -r, jail->index);
    return true;
}

/* The number of a program is that of its group; init alone reaps it: until then it is no other's. */
static void interrupt(struct jail *jail, const struct parent_message *message)
{
    const struct jail_lane *lane = lane_of(jail, message);
    if (lane->program == 0)
        return;
    jail->is_interrupted = true;
    if (message->word == WORD_INTERRUPT)
        kill(-lane->program, SIGINT);
    else
        process_group_signal(lane->program, 1, SIGINT);
}

static pid_t newest_before_cell(const struct jail *jail, const struct jail_lane *lane)
{
    return jail->newest > 0 ? jail->newest : lane->program;
}

static void insist(struct jail *jail, const struct parent_message *message)
{
    const struct jail_lane *lane = lane_of(jail, message);
    if (lane->program == 0)
        return;
    if (!lane->is_live && commands_or_live_run(jail)) {
        kill(-lane->program, SIGKILL);
        return;
    }
    if (!lane->is_live) {
        init_signal_rest(jail, SIGKILL);
        return;
    }
    /* First, so that it is pending when the program that is waited for ends. */
    kill(lane->program, SIGURG);
    process_group_signal(lane->program, newest_before_cell(jail, lane), SIGKILL);
}

/* What an interrupted cell leaves: time to end by itself, as what it called has been told to. */
static void end_group(const struct jail *jail, const struct jail_lane *lane)
{
    pid_t after = newest_before_cell(jail, lane);
    for (int passed = 0; passed < GROUP_END_MS; passed += GROUP_LOOK_MS) {
        if (!process_group_signal(lane->program, after, 0))
            return;
        poll(NULL, 0, GROUP_LOOK_MS);
    }
    process_group_signal(lane->program, after, SIGKILL);
}

static void pause_all(struct jail *jail, const struct parent_message *message)
{
    const struct jail_lane *lane = lane_of(jail, message);
    bool has_group = lane->program != 0 && lane->is_live;
    if (jail->is_interrupted && has_group)
        end_group(jail, lane);
    jail->is_interrupted = false;
    jail->is_paused = true;
    init_signal_rest(jail, SIGSTOP);
    init_report(jail, REPORT_PAUSED, -1, 0);
    /* After the report, for which the server waits. */
    pid_t newest = has_group ? process_group_newest() : 0;
    jail->newest = newest > 0 ? newest : jail->newest;
    checkpoints_end_oldest(jail);
}

/* Not the copy that has taken its place meanwhile, unless that is later than wanted, too. */
static void end_program(struct jail *jail, const struct parent_message *message)
{
    const struct jail_lane *lane = lane_of(jail, message);
    bool goes_back = message->word == WORD_GO_BACK;
    if (goes_back)
        checkpoints_drop_later(jail, message);
    bool is_meant =
        message->revived == lane->revived || (goes_back && lane->state > message->number);
    if (lane->program != 0 && is_meant)
        kill(-lane->program, SIGKILL);
}

static bool obey(struct jail *jail, const struct heard *heard)
{
    const struct parent_message *message = &heard->message;
    switch ((enum parent_word)message->word) {
    case WORD_CODE:
        return !take_parcel(jail, heard);
    case WORD_INTERRUPT:
    case WORD_INTERRUPT_CHILDREN:
        interrupt(jail, message);
        return false;
    case WORD_INSIST:
        insist(jail, message);
        return false;
    case WORD_PAUSE:
        pause_all(jail, message);
        return false;
    case WORD_RESUME:
        jail->is_paused = false;
        init_signal_rest(jail, SIGCONT);
        return false;
    case WORD_HOLD:
        init_signal_rest(jail, SIGSTOP);
        return false;
    case WORD_COMMAND:
    case WORD_FILE:
    case WORD_STREAM:
        return !commands_start(jail, message, heard->fds, heard->fd_count);
    case WORD_COMMAND_SIGNAL:
    case WORD_COMMAND_END:
        commands_signal(jail, message);
        return false;
    case WORD_CHECKPOINT:
        if (message->command == 0)
            checkpoints_keep(lane_of(jail, message), message->file_count);
        else if (!commands_have(jail, message->command))
            checkpoints_take(jail, message);
        return false;
    case WORD_GO_BACK:
    case WORD_END_PROGRAM:
        end_program(jail, message);
        return false;
    case WORD_IDS_MAPPED:
    case WORD_TERMINATE:
    case WORD_STOP:
        break;
    }
    return true;
}

bool session_take_word(struct jail *jail)
{
    struct heard heard = {.fd_count = HEARD_FDS_MAX};
    struct parent_message *message = &heard.message;
    ssize_t length =
        fork_receive(jail->plan->control_fd, message, sizeof(*message), heard.fds, &heard.fd_count);
    if (length == -EPERM || length == -ENOSYS) /* a profile without recvmsg(2): no commands */
        length = read(jail->plan->control_fd, message, sizeof(*message));
    bool is_over = length != (ssize_t)sizeof(*message) || obey(jail, &heard);
    for (size_t i = 0; i < heard.fd_count; i++)
        close(heard.fds[i]);
    return is_over;
}

/* What is left of a group that has been killed: until then it may be on its way. */
static void reap_group(pid_t group)
{
    while (syscall(SYS_wait4, -group, NULL, __WALL, NULL) > 0 || errno == EINTR)
        ;
}

bool session_outlives(struct jail *jail, int lane, int status)
{
    pid_t program = jail->lanes[lane].program;
    jail->lanes[lane].program = 0;
    if (jail->plan->session == SESSION_NONE)
        return false;
    if (jail->lanes[lane].is_live) {
        jail->is_interrupted = false;
        return checkpoints_revive(jail, lane, status);
    }
    if (commands_or_live_run(jail))
        reap_group(program);
    else
        init_end_rest(jail);
    init_report(jail, REPORT_PAUSED, lane, status);
    return true;
}
