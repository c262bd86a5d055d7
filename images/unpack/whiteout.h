/*
 * Whiteouts: members of a layer that remove files of the layers below.
 *
 *     DIRECTORY/.wh.NAME        NAME
 *     DIRECTORY/.wh..wh..opq    everything
 *
 * Files of the layer itself stay, whether they precede or follow the whiteout.
 *
 * Side: jailed child.  Source: OCI image-spec, layer.md "Whiteouts".
 */
#ifndef IMAGES_UNPACK_WHITEOUT_H
#define IMAGES_UNPACK_WHITEOUT_H

#include "images/unpack/hash_set.h"

#include <stdbool.h>
#include <stdint.h>

enum whiteout_kind {
    WHITEOUT_NONE,    /* an ordinary name */
    WHITEOUT_NAME,    /* removes one name */
    WHITEOUT_OPAQUE,  /* removes everything beside it */
    WHITEOUT_IGNORED, /* internal to aufs */
    WHITEOUT_BAD,     /* with an empty name, "." or ".." */
};

struct whiteout {
    enum whiteout_kind kind;
    const char *name; /* of WHITEOUT_NAME: what is removed */
};

/* Parses a member's normalised name; the result points into it. */
struct whiteout whiteout_read(const char *member);

/* What whiteouts spare, and how much they may still look at: entries that stay are looked at again by each. */
struct whiteout_scope {
    const struct hash_set *kept; /* borrowed */
    uint64_t *left; /* borrowed: of all whiteouts together, in entries */
};

/* Removes `name` and everything below it, except entries that are kept. 0; -E2BIG: nothing is left; or a negative errno. */
int whiteout_remove(int directory_fd, const char *name, const struct whiteout_scope *scope);

/* Removes everything in the directory, except entries that are kept. As whiteout_remove(). */
int whiteout_empty(int directory_fd, const struct whiteout_scope *scope);

#endif
