/*
 * Layers: the directories that images are made of, each once for all images that have it.
 *
 *     STORE/layers/ID/tree/    in the form of overlayfs: a whiteout is the character device 0:0, an
 *                              opaque directory has user.overlay.opaque=y
 *
 * A layer is made once, never changed, and its id never used again. Whoever needs one that a record
 * may stop naming (a run, the making of an image) holds a shared flock(2) on its directory. What no
 * record names and nobody holds is removed by a sweep, whatever became of who made it.
 *
 * Side: parent.  Source: the kernel's filesystems/overlayfs.rst; flock(2).
 */
#ifndef IMAGES_STORE_LAYER_STORE_H
#define IMAGES_STORE_LAYER_STORE_H

#include "images/store/store.h"

#include <stdbool.h>

#define LAYER_TREE "tree"

/* A layer that is being made; {.fd = -1} is none. layer_release() lets go of it. */
struct layer {
    char id[LAYER_ID_SIZE];
    int fd; /* owned: its directory, locked */
};

#define LAYER_NONE ((struct layer){.fd = -1})

/* Whether the text is an id. */
bool layer_id_is_valid(const char *id);

/* Makes the directory of a new layer, without a tree as yet, and holds it. 0 or negative errno. */
int layer_begin(int images_fd, struct layer *ret_layer, struct fault *fault);
void layer_release(struct layer *layer);

/* Holds a layer. 0 and the descriptor that does; -ENOENT it is gone, or is going. */
int layer_hold(const char *store, const char *id, int *ret_fd);

struct sweep {
    size_t removed;
    uint64_t bytes; /* that they took on disk */
    size_t held;    /* layers that no record names any more, but a run or another command holds */
};

/*
 * Removes what no record names. 0; or a negative errno: a record that cannot be read may name any
 * layer, so then none is removed.
 */
int layers_sweep(const char *store, struct sweep *ret_sweep, struct fault *fault);

#endif
