#include "sandbox/jail/child/commands.h"

#include "sandbox/jail/child/checkpoints.h"
#include "sandbox/jail/child/file_request.h"
#include "sandbox/jail/child/further_program.h"
#include "sandbox/jail/child/port_stream.h"
#include "sandbox/jail/child/report.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct jail_command *find(struct jail *jail, pid_t pid)
{
    for (size_t i = 0; i < JAIL_COMMANDS_MAX; i++)
        if (jail->commands[i].pid == pid)
            return &jail->commands[i];
    return NULL;
}

bool commands_have(const struct jail *jail, pid_t pid)
{
    for (size_t i = 0; i < JAIL_COMMANDS_MAX; i++)
        if (jail->commands[i].pid == pid)
            return true;
    return false;
}

/* The process of a request on files. */
static int start_file(struct jail *jail, const int *fds)
{
    void *text = NULL;
    size_t size = 0;
    int r = further_program_map(fds[0], &text, &size);
    if (r < 0)
        return r;
    int pid = file_request_start(jail, text, fds + 1);
    munmap(text, size);
    return pid;
}

static int start(struct jail *jail, const struct parent_message *message, const int *fds,
                 size_t fd_count)
{
    struct jail_command *place = find(jail, 0);
    const struct further_program start = {fds[0], fds + 1, COMMAND_FDS - 1};
    jail_note(jail, STEP_FORK, -1);
    if (place == NULL)
        return -EAGAIN;
    if (fd_count != COMMAND_FDS)
        return -EPERM;
    int pid = message->word == WORD_FILE ? start_file(jail, fds)
              : message->word == WORD_STREAM
                  ? port_stream_start(jail, (uint16_t)message->signal, fds + 1)
                  : further_program_start(jail, &start);
    if (pid > 0)
        *place = (struct jail_command){.id = message->command, .pid = pid};
    return pid < 0 ? pid : 0;
}

bool commands_start(struct jail *jail, const struct parent_message *message, const int *fds,
                    size_t fd_count)
{
    int r = start(jail, message, fds, fd_count);
    const struct child_report report = {
        .kind = REPORT_COMMAND_STARTED,
        .step = jail->step,
        .error = -r,
        .index = message->command,
    };
    return report_write(jail->plan, &report) == 0;
}

/* The number of a command is that of its group; init alone reaps it: until then it is no other's. */
void commands_signal(struct jail *jail, const struct parent_message *message)
{
    for (size_t i = 0; i < JAIL_COMMANDS_MAX; i++) {
        struct jail_command *command = &jail->commands[i];
        if (command->pid == 0 || command->id != message->command)
            continue;
        command->has_to_end |= message->word == WORD_COMMAND_END;
        if (kill(-command->pid, message->signal) < 0) /* a request on files, just begun */
            kill(command->pid, message->signal);
    }
}

bool commands_run(const struct jail *jail)
{
    if (jail->plan->keeps_running)
        return true;
    for (size_t i = 0; i < JAIL_COMMANDS_MAX; i++)
        if (jail->commands[i].pid != 0)
            return true;
    return false;
}

bool commands_or_live_run(const struct jail *jail)
{
    for (size_t i = 0; i < JAIL_LANES_MAX; i++)
        if (jail->lanes[i].is_live && jail->lanes[i].program != 0)
            return true;
    return commands_run(jail);
}

/* Whether the end of this program is the end of its process group, and not that of all processes. */
static bool ends_with_group(const struct jail *jail, const struct jail_lane *lane)
{
    if (lane->program == 0 || jail->plan->session == SESSION_NONE)
        return false;
    return lane->is_live ? checkpoints_are_there(lane) : commands_or_live_run(jail);
}

static bool any_ends_with_group(const struct jail *jail)
{
    for (size_t i = 0; i < JAIL_LANES_MAX; i++)
        if (ends_with_group(jail, &jail->lanes[i]))
            return true;
    return false;
}

static bool any_has_to_end(const struct jail *jail)
{
    for (size_t i = 0; i < JAIL_COMMANDS_MAX; i++)
        if (jail->commands[i].has_to_end)
            return true;
    return false;
}

pid_t commands_next_dead(const struct jail *jail)
{
    if (!any_ends_with_group(jail) && !any_has_to_end(jail))
        return -1;
    siginfo_t dead = {.si_pid = 0};
    const int options = WEXITED | WNOHANG | WNOWAIT | __WALL;
    if (syscall(SYS_waitid, P_ALL, 0, &dead, options, NULL) < 0)
        return -1;
    for (size_t i = 0; i < JAIL_LANES_MAX; i++)
        if (jail->lanes[i].program == dead.si_pid && ends_with_group(jail, &jail->lanes[i]))
            kill(-dead.si_pid, SIGKILL);
    for (size_t i = 0; i < JAIL_COMMANDS_MAX; i++)
        if (jail->commands[i].has_to_end && jail->commands[i].pid == dead.si_pid)
            kill(-dead.si_pid, SIGKILL);
    return dead.si_pid;
}

void commands_note_end(struct jail *jail, pid_t pid, int status, const struct rusage *usage)
{
    struct jail_command *command = find(jail, pid);
    if (command == NULL)
        return;
    const struct child_report report = {
        .kind = REPORT_COMMAND_ENDED,
        .index = command->id,
        .status = status,
        .usage = *usage,
    };
    *command = (struct jail_command){0};
    if (report_write(jail->plan, &report) < 0)
        close(
            jail->plan->control_fd); /* nobody waits for ever: init ends, and the parent sees it */
}
