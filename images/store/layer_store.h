/*
 * Layers: the directories of which images consist, each stored once for all images.
 *
 *     STORE/layers/ID/tree/    in the form of overlayfs: a whiteout is the character device 0:0, an
 *                              opaque directory has user.overlay.opaque=y
 *
 * A layer is made once and never changed, and its id is never reused. A run, or the making of an
 * image, holds a shared flock(2) on the directory of each layer that it needs. A sweep removes
 * layers that no record names and no process holds, even if their maker was killed.
 *
 * Side: parent.  Source: the kernel's filesystems/overlayfs.rst; flock(2).
 */
#ifndef IMAGES_STORE_LAYER_STORE_H
#define IMAGES_STORE_LAYER_STORE_H

#include "images/store/image.h"

#include <stdbool.h>

#define LAYER_TREE "tree"

/* A layer being made; {.fd = -1}: none. layer_store_release() drops the lock. */
struct layer {
    char id[LAYER_ID_SIZE];
    int fd; /* owned: its directory, locked */
};

#define LAYER_NONE ((struct layer){.fd = -1})

/* Whether the text is an id. */
bool layer_store_id_is_valid(const char *id);

/* Makes the directory of a new layer, still without a tree, and holds it. 0 or negative errno. */
int layer_store_begin(int images_fd, struct layer *ret_layer, struct fault *fault);
void layer_store_release(struct layer *layer);

/* Opens the store's directory of layers. 0 and the descriptor; -ENOENT: there is none yet. */
int layer_store_open(const char *store, int *ret_fd);

/*
 * Locks a layer by flock(2) with LOCK_SH or LOCK_EX. 0 and the descriptor that holds the lock;
 * -ENOENT: the layer is gone; -EWOULDBLOCK: another process holds a conflicting lock.
 */
int layer_store_lock(int layers_fd, const char *id, int operation, int *ret_fd);

/* Holds a layer. 0 and the descriptor with the lock; -ENOENT: it is removed, or being removed. */
int layer_store_hold(const char *store, const char *id, int *ret_fd);

#endif
