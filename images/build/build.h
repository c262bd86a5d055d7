/* Makes one image and publishes it in the store. Side: parent. */
#ifndef IMAGES_BUILD_BUILD_H
#define IMAGES_BUILD_BUILD_H

#include "images/base/reference.h"
#include "images/store/lock.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Where an image of the catalog comes from. */
enum build_source {
    SOURCE_ANY, /* Debian packages; if the host has none, a similar image from a registry */
    SOURCE_DEBIAN,
    SOURCE_REGISTRY,
};

struct build {
    const char *store;   /* the directory of the images */
    const char *name;    /* of the image, checked */
    const char *from;    /* the source (source.h), or NULL */
    const struct reference *reference; /* from a lock, or NULL; if both are NULL: a recipe */
    enum build_source source; /* of a recipe */
    const struct lock *locked; /* the exact packages for a recipe, or NULL */
    const char *lock_path; /* the file that `locked` or `reference` comes from, or NULL */
    bool force; /* make it again if it exists */
    bool json; /* report events instead of text: progress.h */
};

/*
 * Makes the image, with progress on stderr. 0, also if the image already exists, made from the same source;
 * -EEXIST if it was made from another one; -EINTR if a signal stopped it; or another negative errno. On failure the store is unchanged.
 */
int build_image(const struct build *build, struct fault *fault);

#endif
