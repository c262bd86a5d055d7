/*
 * A root file system on the host, inspected through a descriptor.
 *
 * Its contents are downloaded data. Every path is resolved inside it (RESOLVE_IN_ROOT), so that no
 * symbolic link of an image can lead the parent to a file outside. Side: parent. Source:
 * openat2(2).
 */
#ifndef SANDBOX_JAIL_ROOTFS_H
#define SANDBOX_JAIL_ROOTFS_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct rootfs {
    int fd;          /* O_PATH */
    const char *path; /* borrowed */
    uint64_t device; /* st_dev, st_ino */
    uint64_t inode;
};

#define ROOTFS_NONE ((struct rootfs){.fd = -1})

/*
 * 0; -ENOENT, -ENOTDIR, -EACCES ... with a fault. `path` is borrowed for the life of *ret_rootfs.
 */
int rootfs_open(const char *path, struct rootfs *ret_rootfs, struct fault *fault);
void rootfs_close(struct rootfs *rootfs);

/*
 * Looks `name` up along JAIL_PATH inside (an absolute name: as it is). The path is owned by the
 * caller. 0; -ENOENT, or why the image cannot be searched, with a fault.
 */
int rootfs_find_program(const struct rootfs *rootfs, const char *name, char **ret_path,
                        struct fault *fault);

/*
 * The name of the file behind this program, with all links followed: "python3.13" for "python3". Owned
 * by the caller. 0; 1 if there is no such program; or a negative errno with a fault.
 */
int rootfs_name_program(const struct rootfs *rootfs, const char *name, char **ret_name,
                        struct fault *fault);

/* Whether a directory of JAIL_PATH inside has an entry of that name, if only a link that leads out of this tree. */
bool rootfs_names_program(const struct rootfs *rootfs, const char *name);

/*
 * Makes a detached copy of the mount of that directory if the parent has the privilege: after its
 * change of ids, the child of a root server could not reach a directory that only root may enter.
 * *ret_fd is -1 if the child must open the path itself (an ordinary user has the same rights in
 * both). 0 or fault.
 */
int rootfs_detach(const char *path, int *ret_fd, struct fault *fault);

/* Directories to search for programs; also the program's PATH. */
#define ROOTFS_PROGRAM_DIRECTORIES                                                                 \
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"
#define JAIL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#endif
