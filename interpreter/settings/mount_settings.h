/*
 * The folders of the host that the operator gives to snippets: --mount and the key "mounts".
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_MOUNT_SETTINGS_H
#define INTERPRETER_SETTINGS_MOUNT_SETTINGS_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/folders/folder.h"

#include <stddef.h>

/* In place of a folder: the one that the client works in. */
#define MOUNT_PROJECT "project"

/* One folder as the operator wrote it. */
struct mount {
    char *source; /* owned: "--mount", for messages */
    char *path; /* owned */
    enum folder_mode mode;
    char *place; /* owned; NULL: the same as the path of the folder */
};

struct mounts {
    struct mount *list; /* owned */
    size_t count; /* <= FOLDERS_MAX */
};

void mounts_release(struct mounts *mounts);

/* FOLDER_READ_ONLY for "ro" ...; 0 or -EINVAL with a fault that lists the names. */
int mount_mode_read(const char *name, enum folder_mode *ret_mode, struct fault *fault);

/*
 * Adds HOST[:MODE][@JAILPATH], read from the right: an @ counts only before a /, a : only before a
 * mode. 0; -EINVAL or -ENOMEM with a fault.
 */
int mounts_add_text(struct mounts *mounts, const char *source, const char *text,
                    struct fault *fault);

/* Several of them, separated by commas. A folder with a comma in its name cannot be written so. */
int mounts_add_list(struct mounts *mounts, const char *source, const char *text,
                    struct fault *fault);

/* The same from its parts, of which the path may begin with ~/; `place` may be NULL. All are copied. */
int mounts_add(struct mounts *mounts, const struct mount *mount, struct fault *fault);

/* The path of the folder as written; that of "project" too. Borrowed. */
const char *mount_path(const struct mount *mount);

/* What a folder must not be, contain or be part of. All are borrowed and may be NULL. */
struct mount_fence {
    const char *home;
    const char *store; /* of images */
    const char *configuration; /* the directory of the usual file */
    const char *configuration_read; /* the file that was read */
    const char *under; /* where "project" may also be: --mount-under */
    const char *copies; /* of overlay folders */
};

/*
 * Opens all folders and checks them and their places. 0, or a negative errno with a fault that names
 * the option, the folder, the reason and the remedy; then *ret_folders is untouched.
 */
int mounts_open(const struct mounts *mounts, const struct mount_fence *fence,
                struct folders *ret_folders, struct fault *fault);

#endif
