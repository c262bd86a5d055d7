/*
 * Directories for the upper layers of overlays, where a tmpfs cannot hold them: folder_probe.h.
 *
 * Each server has a directory of its own below one that all servers of a user share, and each
 * sandbox has one in that. A server locks its own as long as it lives, so that another can tell what
 * a dead one has left, and remove it.
 *
 * Side: parent.  Source: flock(2).
 */
#ifndef SANDBOX_UPPER_STORE_H
#define SANDBOX_UPPER_STORE_H

#include "sandbox/base/fault.h"

#include <stdint.h>
#include <sys/types.h>

#define UPPER_NAME_SIZE 32

struct upper_store {
    char *path; /* owned; of this server's directory; NULL: the store is not open */
    int fd; /* owned; of the same; holds the lock */
    uint64_t made; /* directories so far */
};

#define UPPER_STORE_NONE ((struct upper_store){.fd = -1})

/*
 * Removes what dead servers have left in the shared directory, and makes one for this server. `path`
 * is absolute and without links. 0, or a negative errno with its fault.
 */
int upper_store_open(struct upper_store *store, const char *path, struct fault *fault);

/* Removes the directory of this server with all that is in it. */
void upper_store_close(struct upper_store *store);

/* The directory of one sandbox. */
struct upper_directory {
    char *path; /* owned; NULL: there is none, as in a struct of zeros */
    int fd; /* owned, unless there is none; for reading */
    uint64_t device, inode;
};

#define UPPER_DIRECTORY_NONE ((struct upper_directory){.path = NULL})

/* Makes an empty one for this owner. 0, or a negative errno with its fault. */
int upper_directory_make(struct upper_store *store, uid_t uid, gid_t gid,
                         struct upper_directory *ret_directory, struct fault *fault);

/* Moves it; *directory is empty afterwards. */
struct upper_directory upper_directory_take(struct upper_directory *directory);

/*
 * Removes it with all that is in it, also after upper_store_close(). No process of the sandbox may be
 * left but init. Blocks for as long as the kernel takes to remove what a snippet wrote.
 */
void upper_directory_remove(struct upper_directory *directory);

#endif
