/*
 * A layer made without overlayfs: installers work on a copy of the whole image, and what differs from the image afterwards
 * is the layer, in the form that overlayfs gives an upper directory.
 *
 * Both trees are as untrusted as installers. No path is followed through a link.
 *
 * Side: parent.  Source: the kernel's filesystems/overlayfs.rst (whiteouts).
 */
#ifndef IMAGES_BUILD_LAYER_COPY_H
#define IMAGES_BUILD_LAYER_COPY_H

#include "sandbox/base/fault.h"

struct layer_copy {
    int image_fd; /* owned: the merged layers, as hard links */
    int work_fd;  /* owned: the copy, for installers */
    int upper_fd; /* owned: an empty directory for what differs */
    const char *work; /* borrowed, absolute, as the next */
    const char *upper;
};

#define LAYER_COPY_NONE ((struct layer_copy){.image_fd = -1, .work_fd = -1, .upper_fd = -1})

/*
 * Merges the layers, mount options of overlayfs relative to `store`, into the empty directory `image`, and copies that into
 * `work`. 0, or a negative errno with a fault; release it either way.
 */
int layer_copy_open(struct layer_copy *copy, const char *store, const char *layers,
                    const char *image, struct fault *fault);

/* Puts what the upper directory has, of packages just unpacked, into the copy, and empties it. 0 or a negative errno. */
int layer_copy_merge(struct layer_copy *copy, struct fault *fault);

/* Moves what differs into the upper directory, with a whiteout for each name that is gone. 0 or a negative errno. */
int layer_copy_take(struct layer_copy *copy, struct fault *fault);

void layer_copy_release(struct layer_copy *copy);

#endif
