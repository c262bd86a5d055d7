/*
 * The store: root filesystems on disk, each complete or absent.
 *
 *     $XDG_DATA_HOME/code-sandbox-mcp/images/NAME/image.json
 *     $XDG_DATA_HOME/code-sandbox-mcp/images/NAME/rootfs/
 *
 * An image is built in a directory aside and renamed into place (publish.h). Side: parent; linked
 * by both programs, so neither libarchive nor a network here.
 * Source: XDG Base Directory Specification 0.8.
 */
#ifndef IMAGES_STORE_H
#define IMAGES_STORE_H

#include "sandbox/base/fault.h"
#include "sandbox/run.h"

#include <stddef.h>
#include <stdint.h>

#define IMAGE_NAME_MAX 128

/* An image that is there; owned, image_release() frees. */
struct image {
    char *name;
    char *directory;     /* of the image */
    char *rootfs;        /* absolute host path of its root file system */
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

/*
 * Removes an image whole, directories of mode 000 among it: first renamed aside, so that it is
 * absent at once. 0; -ENOENT; -EBUSY while a fetch holds its lock.
 */
int image_remove(const char *store, const char *name, struct fault *fault);

#endif
