/*
 * Where the upper layers of overlay folders are: on the tmpfs of each jail; or, if the kernel's tmpfs
 * cannot hold them, in the user's state directory.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_OVERLAY_PLACE_H
#define INTERPRETER_SETTINGS_OVERLAY_PLACE_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/folders/folder.h"

struct overlay_place {
    char *path; /* owned; absolute, without links; NULL: a tmpfs */
    struct fault reason; /* why it is not a tmpfs; or "" */
};

void overlay_place_release(struct overlay_place *place);

/*
 * Tries what this machine can do; makes the directory if it is needed. 0, or a negative errno with a
 * fault that names both reasons and the remedy.
 */
int overlay_place_find(struct overlay_place *ret_place, struct fault *fault);

/*
 * Tries mounts of this mode on this machine; for FOLDER_OVERLAY, *ret_place says where copies are. 0,
 * or a negative errno with a fault that says why it does not work.
 */
int mount_mode_probe(enum folder_mode mode, struct overlay_place *ret_place, struct fault *fault);

/*
 * The directory for copies below the state directory, whether or not it is there or needed; owned by
 * the caller. 0; -ENOENT: there is no home; -ENOMEM.
 */
int overlay_place_directory(char **ret_path);

#endif
