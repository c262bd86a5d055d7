/*
 * Where a jail without mounts is: the directories that mounts provide elsewhere.
 *
 * Each is a whole root directory (sandbox/roots/chroot_tree.h); on BASE_CHROOT with a user of its own (spare_ids.h), on
 * BASE_HOST with the plan's paths changed to be below it (relocation.h). It may take seconds to link the files of a
 * large image, so a root is kept for later runs of the image on the same base, of other servers of the same user as well,
 * and only its writable directories are new for each. They are in
 *
 *     ROOTS/IMAGE/image      which image, base and user: a text that names them and the image's layers
 *     ROOTS/IMAGE/NUMBER/    the roots; one in use is locked
 *
 * Roots of images that are no longer there are removed when a store is opened.
 *
 * Side: parent.  Source: flock(2).
 */
#ifndef SANDBOX_ROOTS_RUN_ROOT_H
#define SANDBOX_ROOTS_RUN_ROOT_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/roots/relocation.h"
#include "sandbox/roots/spare_ids.h"

#define RUN_ROOT_DIRECTORIES_MAX 4
#define RUN_ROOTS_MAX 128 /* of one image, in use at once */

struct run_root {
    char *path; /* owned */
    int fd;     /* owned; holds the lock */
    uint64_t device, inode;
    struct spare_ids ids;
    struct relocation relocation;
    int directory_fds
        [RUN_ROOT_DIRECTORIES_MAX]; /* owned: the writable ones, in the order of plan->scratch; -1: none */
};

struct run_root_store {
    char *path; /* owned; NULL: not open */
    int fd; /* owned */
};

#define RUN_ROOT_STORE_NONE ((struct run_root_store){.fd = -1})

/*
 * Opens the store at `path`, an absolute path on the file system of the images, and makes it if it is missing. 0, or a
 * negative errno with a fault.
 */
int run_root_store_open(struct run_root_store *store, const char *path, struct fault *fault);
void run_root_store_close(struct run_root_store *store);

/*
 * Takes a root of the plan's image, or makes one, with new writable directories, and completes the plan by it. The root is
 * the caller's until run_root_give_back(). 0, or a negative errno with a fault.
 */
int run_root_take(struct run_root_store *store, struct jail_plan *plan, struct run_root **ret_root,
                  struct fault *fault);

/* No process of the jail may be left: removes what it has written, and leaves the root to others. NULL is fine. */
void run_root_give_back(struct run_root *root);

#endif
