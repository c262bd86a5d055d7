/*
 * An image in memory: its record (image_record.h) and its paths in the store.
 *
 * Side: parent.
 */
#ifndef IMAGES_STORE_IMAGE_H
#define IMAGES_STORE_IMAGE_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/run_spec.h"

#include <stddef.h>
#include <stdint.h>

#define IMAGE_NAME_MAX 128
#define LAYER_ID_SIZE 17      /* 16 of a-z and 2-7, and NUL */
#define IMAGE_LAYERS_MAX 100  /* their names must fit into one page of mount options */

/* One layer of an image, from its record. The texts are owned. */
struct image_layer {
    char id[LAYER_ID_SIZE];
    char *origin;        /* what made it: "Debian trixie packages", "images add --pip six" */
    char *created;       /* UTC, RFC 3339 */
    uint64_t size_bytes; /* on disk */
    uint64_t file_count;
};

/* An image in the store; owned, image_release() frees. */
struct image {
    char *name;
    char *directory;     /* of the image */
    /*
     * Absolute host path of its root file system; for an image of several layers, that of the
     * directory of the layers, to which `layer_names` are relative.
     */
    char *rootfs;
    struct image_layer *layers; /* owned, bottom to top; none in images of older versions */
    size_t layer_count;
    char **layer_names; /* NULL-terminated: "ID/tree", bottom to top; NULL unless several */
    char *source;        /* its origin, for people: "Debian trixie packages" */
    char *created;       /* UTC, RFC 3339 */
    char *summary;       /* for people and models: "Python 3.13.5; numpy 2.2.4, ..." or "" */
    uint64_t size_bytes; /* on disk, as measured when it was made */
    uint64_t file_count;
    uint64_t source_changed; /* when the user's archive or directory was, in seconds; 0: unknown */
    struct home_link *home_links; /* owned, the texts too */
    size_t home_link_count;
    char **environment; /* NULL-terminated NAME=VALUE of the image; may be empty */
};

void image_release(struct image *image);

/* A name: 1..128 of [a-z0-9._-], not starting with '.' or '-'. 0, or -EINVAL with the rule. */
int image_name_check(const char *name, struct fault *fault);

#endif
