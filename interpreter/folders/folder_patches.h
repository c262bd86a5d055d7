/*
 * What a run changed in its overlay folders.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_FOLDER_PATCHES_H
#define INTERPRETER_FOLDERS_FOLDER_PATCHES_H

#include "interpreter/folders/changes.h"
#include "sandbox/result.h"

/* What a run changed in the copy of a folder. */
struct folder_patch {
    const char *folder; /* its path on the host, of the settings; or on a worker, of `told` */
    char *failure; /* owned; why the changes are not known; NULL: they are */
    struct changes changes;
    /* Filled in by whoever keeps the patch for reading or copies it. */
    char *name; /* owned; of the resource and of the copy; NULL: there is no patch */
    bool is_kept;
    char *path; /* owned; of the copy; or NULL */
};

/* All zero: no overlay folder. */
struct folder_patches {
    struct folder_patch list[FOLDERS_MAX]; /* in the order of the run's folders */
    size_t count;
    size_t lost; /* overlay folders of which nothing is known */
    struct json *told; /* owned; by a worker; or NULL */
    bool is_of_session; /* which goes on: what is not known may be, after the next call */
};

void folder_patches_release(struct folder_patches *patches);

#endif
