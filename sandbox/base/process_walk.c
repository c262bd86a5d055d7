#include "sandbox/base/process_walk.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static void add(struct process_walk *walk, pid_t pid)
{
    if (walk->count == walk->capacity) {
        size_t capacity = walk->capacity == 0 ? 64 : 2 * walk->capacity;
        pid_t *waiting = capacity > PROCESS_WALK_MAX
                             ? NULL
                             : reallocarray(walk->waiting, capacity, sizeof(*waiting));
        if (waiting == NULL)
            return;
        walk->waiting = waiting;
        walk->capacity = capacity;
    }
    walk->waiting[walk->count++] = pid;
}

static void add_children(struct process_walk *walk, int threads_fd, const char *thread)
{
    char path[32];
    snprintf(path, sizeof(path), "%.16s/children", thread);
    int fd = openat(threads_fd, path, O_RDONLY | O_CLOEXEC);
    FILE *children = fd >= 0 ? fdopen(fd, "re") : NULL;
    if (children == NULL) {
        fd_close(&fd);
        return;
    }
    int pid;
    while (fscanf(children, "%d", &pid) == 1)
        add(walk, pid);
    fclose(children);
}

struct process_walk process_walk_open(int proc_fd, pid_t root)
{
    struct process_walk walk = {.proc_fd = proc_fd};
    if (root == 0)
        walk.all = directory_open(proc_fd, ".");
    else
        add(&walk, root);
    return walk;
}

const char *process_walk_next(struct process_walk *walk)
{
    if (walk->all != NULL)
        return directory_next_number(walk->all);
    if (walk->count == 0)
        return NULL;
    char path[32];
    snprintf(walk->name, sizeof(walk->name), "%d", (int)walk->waiting[--walk->count]);
    snprintf(path, sizeof(path), "%s/task", walk->name);
    OWNED(directory_release) DIR *threads = directory_open(walk->proc_fd, path);
    int fd = threads != NULL ? dirfd(threads) : -1;
    for (const char *thread; fd >= 0 && (thread = directory_next_number(threads)) != NULL;)
        add_children(walk, fd, thread);
    return walk->name;
}

void process_walk_release(struct process_walk *walk)
{
    directory_release(&walk->all);
    free(walk->waiting);
    *walk = (struct process_walk){.proc_fd = -1};
}
