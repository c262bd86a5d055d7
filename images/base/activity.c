#include "images/base/activity.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/process_walk.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BUSY_SHARE 20 /* active: with a twentieth of one processor */

void activity_begin(struct activity *activity, int64_t now)
{
    activity->looked_at = activity->active_at = now;
}

/* What processes have done so far. */
struct done {
    uint64_t written;
    int64_t cpu_ns;
    size_t told; /* processes of which it is known what they write */
};

static bool process_read(int proc_fd, const char *process, const char *name, char text[1024])
{
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", process, name);
    return text_file_read(proc_fd, path, text, 1024) == 0;
}

/* Adds what the process and its reaped children have done; one that has ended adds nothing. */
static void process_add(int proc_fd, const char *process, struct done *done)
{
    char text[1024];
    unsigned long long written;
    long long ticks[4]; /* of itself, and of its children; user, system */
    const char *line = process_read(proc_fd, process, "io", text) ? strstr(text, "wchar: ") : NULL;
    if (line != NULL && sscanf(line, "wchar: %llu", &written) == 1) {
        done->written += written;
        done->told++;
    }
    line = process_read(proc_fd, process, "stat", text) ? strrchr(text, ')') : NULL;
    if (line != NULL &&
        sscanf(line, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &ticks[0],
               &ticks[1], &ticks[2], &ticks[3]) == 4)
        done->cpu_ns += (ticks[0] + ticks[1] + ticks[2] + ticks[3]) *
                        (NANOSECONDS_PER_SECOND / sysconf(_SC_CLK_TCK));
}

static void tree_add(int proc_fd, pid_t root, struct done *done)
{
    OWNED(process_walk_release) struct process_walk walk = process_walk_open(proc_fd, root);
    for (const char *name; (name = process_walk_next(&walk)) != NULL;)
        process_add(proc_fd, name, done);
}

int64_t activity_look(struct activity *activity, const pid_t *processes, size_t count, int64_t now)
{
    OWNED_FD int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct done done = {0};
    /* Without this file, no process below these would be found. */
    bool is_told =
        proc_fd >= 0 && faccessat(proc_fd, "thread-self/children", R_OK, AT_EACCESS) == 0;
    for (size_t i = 0; is_told && i < count; i++)
        tree_add(proc_fd, processes[i], &done);
    /* Of processes of another user nobody without CAP_SYS_PTRACE learns what they write: proc_pid_io(5). */
    int64_t idle_ns = done.told > 0 ? (now - activity->looked_at) / BUSY_SHARE : 0;
    if (!is_told || done.written != activity->written || done.cpu_ns - activity->cpu_ns > idle_ns)
        activity->active_at = now;
    activity->looked_at = now;
    activity->written = done.written;
    activity->cpu_ns = done.cpu_ns;
    return now - activity->active_at;
}
