/*
 * Directories of this host that no sandbox is shown whole: those of the system, and a user's home
 * with what is above it. What mounts and installers may see passes by here.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_HOST_FENCE_H
#define SANDBOX_JAIL_FOLDERS_HOST_FENCE_H

#include <stdbool.h>

/* Whether an absolute path is `above`, or below it. */
bool path_is_below(const char *path, const char *above);

struct host_fence {
    const char *reason; /* "it is your home directory, ..." */
    const char *remedy; /* "mount a folder below your home directory" */
};

/*
 * Whether the directory is closed, and then why. `path` is absolute, without links: realpath(3).
 * `home` is the user's, likewise; NULL: there is none.
 */
bool host_fence_stops(const char *path, const char *home, struct host_fence *ret_fence);

#endif
