#include "sandbox/jail/forks/template_family.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define GENERATIONS 3 /* template.py: the program, what has loaded the modules, the template */
#define STAT_SIZE 512

/* Whether it can do nothing any more, and its number of threads. False: it has gone. */
static bool read_state(pid_t pid, bool *ret_has_ended, unsigned long *ret_threads)
{
    char path[32];
    char text[STAT_SIZE];
    char state;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    text_file_read(AT_FDCWD, path, text, sizeof(text));
    const char *name_end = strrchr(text, ')'); /* the name may contain anything. Fields 3 and 20. */
    if (name_end == NULL ||
        sscanf(name_end + 1,
               " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu", &state,
               ret_threads) != 2)
        return false;
    *ret_has_ended = (state == 'Z' || state == 'X') && *ret_threads <= 1;
    return true;
}

/* Calls `take` with each child that is alive. 0; a negative errno; or what `take` has returned, if not 0. */
static int each_child(pid_t pid, const char *thread, int (*take)(pid_t child, void *data),
                      void *data)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, thread);
    FILE *children = fopen(path, "re");
    if (children == NULL)
        return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
    int r = 0;
    for (int child; r == 0 && fscanf(children, "%d", &child) == 1;) {
        bool has_ended = true;
        unsigned long threads;
        if (read_state(child, &has_ended, &threads) && !has_ended)
            r = take(child, data);
    }
    fclose(children);
    return r;
}

struct one_child {
    pid_t pid; /* 0: none yet */
};

static int take_only(pid_t child, void *data)
{
    struct one_child *only = data;
    if (only->pid != 0)
        return -EEXIST;
    only->pid = child;
    return 0;
}

/* The only child of a process, whichever thread has made it. 0 or a negative errno. */
static int only_child(pid_t pid, pid_t *ret_child)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    OWNED(directory_release) DIR *threads = directory_open(AT_FDCWD, path);
    struct one_child only = {0};
    int r = threads == NULL ? -errno : 0;
    for (const char *thread; r == 0 && (thread = directory_next_number(threads)) != NULL;)
        r = each_child(pid, thread, take_only, &only);
    *ret_child = only.pid;
    return r == 0 && only.pid == 0 ? -ESRCH : r;
}

static bool has_one_thread(pid_t pid)
{
    bool has_ended;
    unsigned long threads = 0;
    return read_state(pid, &has_ended, &threads) && threads == 1;
}

struct known_forks {
    const pid_t *pids;
    size_t count;
};

/* The newest are the likeliest. */
static int take_known(pid_t child, void *data)
{
    const struct known_forks *known = data;
    for (size_t i = known->count; i-- > 0;)
        if (known->pids[i] == child)
            return 0;
    return -EEXIST;
}

bool template_family_is_known(pid_t init, const pid_t *forks, size_t count)
{
    pid_t pid = init;
    for (int i = 0; i < GENERATIONS; i++) {
        if (only_child(pid, &pid) < 0)
            return false;
        /* Libraries that the second has loaded may have threads, which its child does not. */
        if (i != 1 && !has_one_thread(pid))
            return false;
    }
    char thread[16];
    struct known_forks known = {forks, count};
    snprintf(thread, sizeof(thread), "%d", (int)pid);
    return each_child(pid, thread, take_known, &known) == 0;
}
