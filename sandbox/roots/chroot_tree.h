/*
 * The root directory of a jail without mounts: the files of an image as hard links, and beside them what mounts provide
 * elsewhere: devices, copies of some files of /proc, and writable directories of the jail's user.
 *
 * On BASE_CHROOT an image's files belong to root, so the user of the jail can neither change nor replace them. On
 * BASE_HOST, Landlock alone sees to that; the directory becomes nobody's root, so there are no devices and no /proc, and
 * links to absolute paths are made relative. Names in an image
 * are downloaded data: every path is opened below the directory, and never through a link.
 *
 * Side: parent.  Source: link(2), openat2(2), the kernel's filesystems/overlayfs.rst (whiteouts, opaque directories).
 */
#ifndef SANDBOX_ROOTS_CHROOT_TREE_H
#define SANDBOX_ROOTS_CHROOT_TREE_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"

#define CHROOT_LAYERS_MAX 128

/*
 * Fills the empty directory with the image of the plan: root_path, or the layers that root_layers names below it. Both must
 * be on one file system. 0, or a negative errno with a fault.
 */
int chroot_tree_fill(int root_fd, const struct jail_plan *plan, struct fault *fault);

/*
 * Replaces the writable directories and the copies of /proc by new ones, and adds the devices if they are missing, as the
 * plan has them; the directories belong to plan->own_uid. 0, or a negative errno with a fault.
 */
int chroot_tree_renew(int root_fd, const struct jail_plan *plan, struct fault *fault);

/*
 * Replaces what chroot_tree_renew() has made by empty directories of root, which the tree had before. 0 or a negative errno.
 */
int chroot_tree_bare(int root_fd, const struct jail_plan *plan);

/* Opens a directory that chroot_tree_renew() has made: "/work". A descriptor or a negative errno. */
int chroot_tree_open(int root_fd, const char *path);

#endif
