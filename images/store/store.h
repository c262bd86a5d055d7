/*
 * The store: root filesystems on disk, each complete or absent.
 *
 *     $XDG_DATA_HOME/code-sandbox-mcp/images/NAME/image.json    which layers it consists of
 *     $XDG_DATA_HOME/code-sandbox-mcp/images/NAME/rootfs        a link to the layer, if it is one
 *     $XDG_DATA_HOME/code-sandbox-mcp/layers/ID/tree/           layer_store.h
 *
 * In an image that a version before layers made, rootfs is the root file system itself. An image is
 * built in a directory aside and renamed into place (publish.h). Side: parent; linked by both
 * programs, so neither libarchive nor a network here.
 * Source: XDG Base Directory Specification 0.8.
 */
#ifndef IMAGES_STORE_STORE_H
#define IMAGES_STORE_STORE_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/run_spec.h"

#include <stddef.h>
#include <stdint.h>

#define IMAGE_NAME_MAX 128
#define LAYER_ID_SIZE 17      /* 16 of a-z and 2-7, and NUL */
#define IMAGE_LAYERS_MAX 100  /* their names must fit into one page of mount options */

/* One layer of an image, as its record tells. The texts are owned. */
struct image_layer {
    char id[LAYER_ID_SIZE];
    char *origin;        /* what made it: "Debian trixie packages", "images add --pip six" */
    char *created;       /* UTC, RFC 3339 */
    uint64_t size_bytes; /* on disk */
    uint64_t file_count;
};

/* An image that is there; owned, image_release() frees. */
struct image {
    char *name;
    char *directory;     /* of the image */
    /*
     * Absolute host path of its root file system; of an image of several layers that of the
     * directory in which they are, `layer_names` being there.
     */
    char *rootfs;
    struct image_layer *layers; /* owned, bottom to top; none in an image of before layers */
    size_t layer_count;
    char **layer_names; /* NULL-terminated: "ID/tree", bottom to top; NULL unless several */
    char *source;        /* where it came from, for people: "Debian trixie packages" */
    char *created;       /* UTC, RFC 3339 */
    char *summary;       /* for people and models: "Python 3.13.5; numpy 2.2.4, ..." or "" */
    uint64_t size_bytes; /* on disk, as measured when it was made */
    uint64_t file_count;
    struct home_link *home_links; /* owned, the texts too */
    size_t home_link_count;
    char **environment; /* NULL-terminated NAME=VALUE that the image wants; may be empty */
};

void image_release(struct image *image);

/*
 * Where images are kept: $XDG_DATA_HOME or $HOME/.local/share, else the home of the passwd entry,
 * and "code-sandbox-mcp" below it. A relative XDG_DATA_HOME is ignored, as the specification says.
 * Not created. Owned by the caller.
 */
int store_path(char **ret_path, struct fault *fault);

/* A name: 1..128 of [a-z0-9._-], not starting with '.' or '-'. 0, or -EINVAL with the rule. */
int image_name_check(const char *name, struct fault *fault);

/*
 * Opens an image by name. 0; -ENOENT with a fault that gives the one command that fetches it;
 * -EINVAL for a bad name or a damaged image.json.
 */
int image_open(const char *store, const char *name, struct image *ret_image, struct fault *fault);

/* All complete images, sorted by name; an absent store is an empty list. The array is owned. */
int image_list(const char *store, struct image **ret_images, size_t *ret_count,
               struct fault *fault);
void image_list_free(struct image *images, size_t count);

/* The same, but a damaged image is a fault. */
int image_list_strict(const char *store, struct image **ret_images, size_t *ret_count,
                      struct fault *fault);

/*
 * Removes an image: first renamed aside, so that it is absent at once; then its layers, unless
 * another image has them too. 0; 1: runs use layers of it, or another that no image has any more,
 * and image_prune() can remove those later; -ENOENT; -EBUSY while a fetch holds its lock.
 */
int image_remove(const char *store, const char *name, struct fault *fault);

/* How much disk a removal has given back, and what it had to leave. */
struct pruned {
    size_t layers;
    uint64_t bytes;
    size_t held; /* layers that a run or another command still uses */
};

/* Removes what belongs to no image: layers, and what killed commands left. 0 or negative errno. */
int image_prune(const char *store, struct pruned *ret_pruned, struct fault *fault);

#endif
