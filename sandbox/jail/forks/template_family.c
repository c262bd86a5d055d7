#include "sandbox/jail/forks/template_family.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define GENERATIONS 3 /* template.py: the program, what has loaded the modules, the template */
#define STAT_SIZE 512
#define HELPER_LOOKS 1000
#define HELPER_LOOK_NS 50000

/* Its state and its number of threads: proc_pid_stat(5). False: it has gone. */
static bool read_state(pid_t pid, char *ret_state, unsigned long *ret_threads)
{
    char path[32];
    char text[STAT_SIZE];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    text_file_read(AT_FDCWD, path, text, sizeof(text));
    const char *name_end = strrchr(text, ')'); /* the name may contain anything. Fields 3 and 20. */
    return name_end != NULL &&
           sscanf(name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu",
                  ret_state, ret_threads) == 2;
}

/* Whether there is one that can do anything. */
static bool is_alive(pid_t pid)
{
    char state;
    unsigned long threads;
    return read_state(pid, &state, &threads) && ((state != 'Z' && state != 'X') || threads > 1);
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
        if (is_alive(child))
            r = take(child, data);
    }
    fclose(children);
    return r;
}

struct known_children {
    const pid_t *pids;
    size_t count;
    pid_t other; /* the only one that is not known; 0: none yet */
};

static int take_known(pid_t child, void *data)
{
    struct known_children *known = data;
    for (size_t i = 0; i < known->count; i++)
        if (known->pids[i] == child)
            return 0;
    if (known->other != 0)
        return -EEXIST;
    known->other = child;
    return 0;
}

/* The only child of a process that is not among these, whichever thread has made it; 0: none. 0 or a negative errno. */
static int other_child(pid_t pid, const pid_t *pids, size_t count, pid_t *ret_child)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    OWNED(directory_release) DIR *threads = directory_open(AT_FDCWD, path);
    struct known_children known = {pids, count, 0};
    int r = threads == NULL ? -errno : 0;
    for (const char *thread; r == 0 && (thread = directory_next_number(threads)) != NULL;)
        r = each_child(pid, thread, take_known, &known);
    *ret_child = known.other;
    return r;
}

/*
 * The template makes a fork by a process that shares its memory, and waits for that: vfork(2). It is in `D` then, and
 * at no other time has it a child.
 */
static bool has_only_helper(pid_t template)
{
    for (int i = 0; i < HELPER_LOOKS; i++) {
        pid_t child;
        char state;
        unsigned long threads;
        if (other_child(template, NULL, 0, &child) < 0 || !read_state(template, &state, &threads) ||
            threads != 1)
            return false;
        if (child == 0 || state == 'D')
            return true;
        /* It has not begun to wait yet, or the helper has ended meanwhile. */
        nanosleep(&(struct timespec){.tv_nsec = HELPER_LOOK_NS}, NULL);
    }
    return false;
}

bool template_family_is_known(pid_t init, const pid_t *forks, size_t count)
{
    pid_t pid = init;
    for (int i = 0; i < GENERATIONS; i++) {
        char state;
        unsigned long threads;
        if (other_child(pid, forks, i == 0 ? count : 0, &pid) < 0 || pid == 0)
            return false;
        /* Libraries that the second has loaded may have threads, which its child does not. */
        if (i != 1 && (!read_state(pid, &state, &threads) || threads != 1))
            return false;
    }
    return has_only_helper(pid);
}
