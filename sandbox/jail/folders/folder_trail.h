/*
 * Follows a path on the host as programs there do, through links and "..", and tells what of it lies in
 * folders that snippets may change: each link on the way, each directory, and the end.
 *
 * Side: parent.  Source: path_resolution(7).
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_TRAIL_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_TRAIL_H

#include "sandbox/jail/folders/folder.h"

#include <sys/stat.h>

enum trail_role {
    TRAIL_DIRECTORY, /* on the way */
    TRAIL_LINK,
    TRAIL_END,
};

struct trail_place {
    enum trail_role role;
    size_t folder; /* index */
    const char *path; /* below the folder; "": the folder itself, or at the end one above it */
    const struct stat *about;
};

struct trail {
    const struct folders *folders;
    size_t steps; /* that may still be made, in all */
    int (*pass)(void *data, const struct trail_place *place); /* 0 or a negative errno */
    void *data;
};

/*
 * From a directory with an absolute path without links. 0, also if the path leads nowhere; 1: no steps are
 * left; or a negative errno that `pass` returned.
 */
int folder_trail_follow(struct trail *trail, const char *directory, const char *target);

#endif
