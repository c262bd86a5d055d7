/*
 * Where a program of an image changes the image itself, in a jail without mounts (BASE_CHROOT): the directory of the image
 * that is being made. The files belong to a user of the program's own meanwhile, and afterwards to root again, so that no
 * other program of the host is in its reach; what mounts show elsewhere is copied in, and removed afterwards.
 *
 * The program may have left anything in the tree: no link in it is followed afterwards, and nothing is opened but directories.
 * Before, links in the image lead where they lead in the jail.
 *
 * Side: parent.  Source: openat2(2), fchownat(2).
 */
#ifndef SANDBOX_ROOTS_INSTALL_ROOT_H
#define SANDBOX_ROOTS_INSTALL_ROOT_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/roots/spare_ids.h"

struct install_root {
    int fd; /* owned; -1: there is none */
    const struct jail_plan *plan; /* borrowed */
    struct spare_ids ids;
    int *
        above; /* owned, plan->shown_count: the directories in which entries of the host are shown */
    size_t shown_count; /* of them so far */
};

#define INSTALL_ROOT_NONE ((struct install_root){.fd = -1, .ids = SPARE_IDS_NONE})

/*
 * Prepares the directory at plan->root_path, which no image has yet, and completes the plan by its user. Nothing to do on
 * other bases. 0, or a negative errno with a fault; either way give it back.
 */
int install_root_take(struct install_root *root, struct jail_plan *plan, struct fault *fault);

/* Once the jail's processes have ended. 0, or a negative errno with a fault: the tree is not one for an image. */
int install_root_give_back(struct install_root *root, struct fault *fault);

#endif
