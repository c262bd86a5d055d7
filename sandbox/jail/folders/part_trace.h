/*
 * What a change of a part leaves: a later time of change, of the part or, of a directory, of something in it. A process
 * that has mapped a file may write to it without one.
 *
 * Side: parent. Source: mmap(2), MAP_SHARED; fcntl(2), F_SETLEASE.
 */
#ifndef SANDBOX_JAIL_FOLDERS_PART_TRACE_H
#define SANDBOX_JAIL_FOLDERS_PART_TRACE_H

#include "sandbox/limits/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct part_trace {
    struct timespec changed; /* the last change of all that is there */
    bool may_hide; /* the next one: a file is open for writing, or not all could be looked at */
};

/* What one comparison may look at and wait for: a run can change much, and all the time. */
struct trace_budget {
    size_t names;
    unsigned ticks;
};

#define TRACE_BUDGET ((struct trace_budget){.names = FOLDER_TRACED_MAX, .ticks = 1})

/*
 * Looks at what is there now, without following links or entering other mounts; `path` is below the folder, "" is the
 * folder. If the last change is of this tick of the clock of file times, waits for the next one, and looks again.
 */
void part_trace_read(int folder_fd, const char *path, struct trace_budget *budget,
                     struct part_trace *ret_trace);

/* Whether nothing has changed from one to the other. */
bool part_trace_is_same(const struct part_trace *before, const struct part_trace *now);

#endif
