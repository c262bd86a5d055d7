/*
 * Starts another program of ours, with nothing of this process but what it is given: default signals, none
 * of them blocked, and its descriptors.
 *
 * Side: parent.  Source: posix_spawn(3).
 */
#ifndef SANDBOX_BASE_SPAWN_H
#define SANDBOX_BASE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPAWN_FDS_MAX 8

/* In place of a descriptor: /dev/null, for reading and writing. */
#define SPAWN_NULL (-1)

struct spawn {
    const char *program; /* its path */
    char *const *arguments; /* ends with NULL */
    char *const *environment; /* the same; NULL: ours */
    const int
        *fds; /* borrowed: they become 0, 1, 2 ... of the program; later ones are not passed on */
    size_t fd_count; /* up to SPAWN_FDS_MAX; of 0 to 2, those that are left out are ours */
    bool has_own_group; /* a process group: an interrupt from the terminal is not for it */
};

/* 0 or a negative errno. The caller reaps the process. */
int spawn_start(const struct spawn *spawn, pid_t *ret_pid);

#endif
