#include "sandbox/limits/proc_activity.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/process_walk.h"
#include "sandbox/base/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_MAX 8192
#define STOPPED_STATES "TtDZX"

static uint64_t number_in(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, 10) : 0;
}

void proc_activity_add(struct proc_activity *activity, const char *text)
{
    static const char state_name[] = "\nState:\t";
    const char *state = strstr(text, state_name);
    if (state == NULL) /* it has gone */
        return;
    char letter = state[sizeof(state_name) - 1];
    activity->running += letter == '\0' || strchr(STOPPED_STATES, letter) == NULL;
    /* So that one that has taken the place of another counts, too. */
    activity->switches += number_in(text, "\nPid:\t") << 32;
    activity->switches += number_in(text, "\nvoluntary_ctxt_switches:\t");
    activity->switches += number_in(text, "\nnonvoluntary_ctxt_switches:\t");
}

static void add_threads(const struct proc_usage *usage, const char *process,
                        struct proc_activity *activity)
{
    char path[64];
    snprintf(path, sizeof(path), "%.16s/task", process);
    OWNED(directory_release) DIR *threads = directory_open(usage->proc_fd, path);
    for (const char *thread; (thread = directory_next_number(threads)) != NULL;) {
        char text[STATUS_MAX];
        snprintf(path, sizeof(path), "%.16s/task/%.16s/status", process, thread);
        if (text_file_read(usage->proc_fd, path, text, sizeof(text)) == 0)
            proc_activity_add(activity, text);
    }
}

struct proc_activity proc_activity_read(const struct proc_usage *usage)
{
    struct proc_activity activity = {0};
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(usage->proc_fd, usage->root);
    size_t position = 0;
    for (const char *name; (name = process_walk_next(&processes)) != NULL;) {
        if (!proc_usage_is_ours(usage, name, position++))
            add_threads(usage, name, &activity);
    }
    return activity;
}
