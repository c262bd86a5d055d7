#include "sandbox/jail/child/checkpoints.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_alive(pid_t pid)
{
    siginfo_t end = {.si_pid = 0};
    const int options = WEXITED | WNOHANG | WNOWAIT | __WALL;
    return syscall(SYS_waitid, P_PID, pid, &end, options, NULL) == 0 && end.si_pid == 0;
}

static bool has(const struct jail_lane *lane, pid_t pid)
{
    for (size_t i = 0; i < JAIL_CHECKPOINTS_MAX; i++)
        if (lane->checkpoints[i].pid == pid)
            return true;
    return false;
}

static bool is_known(const struct jail *jail, pid_t pid)
{
    for (size_t i = 0; i < JAIL_LANES_MAX; i++)
        if (jail->lanes[i].program == pid || has(&jail->lanes[i], pid))
            return true;
    return false;
}

/* The newest, or the oldest; NULL: there is none. */
static struct jail_checkpoint *find(struct jail_lane *lane, bool newest)
{
    struct jail_checkpoint *found = NULL;
    for (size_t i = 0; i < JAIL_CHECKPOINTS_MAX; i++) {
        struct jail_checkpoint *one = &lane->checkpoints[i];
        if (one->pid != 0 && (found == NULL || (one->number > found->number) == newest))
            found = one;
    }
    return found;
}

static size_t count(const struct jail_lane *lane)
{
    size_t number = 0;
    for (size_t i = 0; i < JAIL_CHECKPOINTS_MAX; i++)
        number += lane->checkpoints[i].pid != 0;
    return number;
}

static void end(struct jail_checkpoint *one)
{
    if (one == NULL)
        return;
    kill(one->pid, SIGKILL);
    one->pid = 0;
}

bool checkpoints_are_there(const struct jail_lane *lane)
{
    return count(lane) > 0;
}

void checkpoints_keep(struct jail_lane *lane, size_t number)
{
    while (count(lane) > number)
        end(find(lane, false));
}

void checkpoints_end_oldest(struct jail *jail)
{
    for (size_t i = 0; i < JAIL_LANES_MAX; i++)
        checkpoints_keep(&jail->lanes[i], jail->lanes[i].kept);
}

void checkpoints_take(struct jail *jail, const struct parent_message *message)
{
    struct jail_lane *lane = &jail->lanes[message->lane % JAIL_LANES_MAX];
    const struct jail_checkpoint one = {message->number, message->command};
    if (one.pid <= 1 || is_known(jail, one.pid) || !is_alive(one.pid))
        return;
    if (message->revived != lane->revived || message->file_count == 0) {
        kill(one.pid, SIGKILL);
        return;
    }
    lane->kept = message->file_count;
    checkpoints_keep(lane, JAIL_CHECKPOINTS_MAX - 1);
    for (size_t i = 0; i < JAIL_CHECKPOINTS_MAX; i++) {
        if (lane->checkpoints[i].pid != 0)
            continue;
        lane->checkpoints[i] = one;
        return;
    }
}

void checkpoints_drop_later(struct jail *jail, const struct parent_message *message)
{
    struct jail_lane *lane = &jail->lanes[message->lane % JAIL_LANES_MAX];
    for (size_t i = 0; i < JAIL_CHECKPOINTS_MAX; i++)
        if (lane->checkpoints[i].pid != 0 && lane->checkpoints[i].number > message->number)
            end(&lane->checkpoints[i]);
}

void checkpoints_note_end(struct jail *jail, pid_t pid)
{
    for (size_t i = 0; i < JAIL_LANES_MAX; i++)
        for (size_t k = 0; k < JAIL_CHECKPOINTS_MAX; k++)
            if (jail->lanes[i].checkpoints[k].pid == pid)
                jail->lanes[i].checkpoints[k].pid = 0;
}

bool checkpoints_revive(struct jail *jail, int number, int status)
{
    struct jail_lane *lane = &jail->lanes[number];
    struct jail_checkpoint *newest;
    while ((newest = find(lane, true)) != NULL) {
        const struct jail_checkpoint one = *newest;
        newest->pid = 0;
        if (!is_alive(one.pid))
            continue;
        lane->program = one.pid;
        lane->state = one.number;
        lane->revived++;
        /* The server is to know of it before the copy speaks. */
        init_report(jail, REPORT_REVIVED, number, status);
        kill(one.pid, SIGURG);
        if (!jail->is_paused)
            kill(one.pid, SIGCONT);
        return true;
    }
    return false;
}
