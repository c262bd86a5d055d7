/*
 * The store: root filesystems on disk, each complete or absent.
 *
 *     $XDG_DATA_HOME/code-sandbox-mcp/images/NAME/image.json    which layers it consists of
 *     $XDG_DATA_HOME/code-sandbox-mcp/images/NAME/rootfs        a link to the layer, if it is one
 *     $XDG_DATA_HOME/code-sandbox-mcp/layers/ID/tree/           layer_store.h
 *
 * In an image made by a version without layers, rootfs is the root file system itself. An image is
 * built in a staging directory and renamed into place (publish.h). Side: parent; linked into both
 * programs, so it must not need libarchive or a network. Source: XDG Base Directory Specification
 * 0.8.
 */
#ifndef IMAGES_STORE_STORE_H
#define IMAGES_STORE_STORE_H

#include "images/store/image.h"
#include "sandbox/base/fault.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Where images are kept: $XDG_DATA_HOME or $HOME/.local/share, else the home of the passwd entry,
 * and "code-sandbox-mcp" below it. A relative XDG_DATA_HOME is ignored, as the specification says.
 * Not created. Owned by the caller.
 */
int store_path(char **ret_path, struct fault *fault);

/*
 * Opens an image by name. 0; -ENOENT with a fault that names the command to fetch it;
 * -EINVAL for a bad name or a damaged image.json.
 */
int image_open(const char *store, const char *name, struct image *ret_image, struct fault *fault);

/* Whether there is an image of that name, even a damaged one. */
bool image_is_there(const char *store, const char *name);

/* All complete images, sorted by name; an absent store is an empty list. The array is owned. */
int image_list(const char *store, struct image **ret_images, size_t *ret_count,
               struct fault *fault);
void image_list_free(struct image *images, size_t count);

/* The same, but a damaged image is a fault. */
int image_list_strict(const char *store, struct image **ret_images, size_t *ret_count,
                      struct fault *fault);

/*
 * Removes an image: first renames it, so that it is absent at once; then removes its layers, unless
 * another image has them too. 0; 1: runs still use some unreferenced layers, and image_prune() can
 * remove them later; -ENOENT; -EBUSY while a fetch holds its lock.
 */
int image_remove(const char *store, const char *name, struct fault *fault);

/* The disk space freed by a removal, and the layers it had to leave. */
struct pruned {
    size_t layers;
    uint64_t bytes;
    size_t held; /* layers that a run or another command still uses */
};

/* Removes layers without an image and the remains of killed commands. 0 or negative errno. */
int image_prune(const char *store, struct pruned *ret_pruned, struct fault *fault);

#endif
