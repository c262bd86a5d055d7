/*
 * Makes one image, from its lock to its place in the store.  Side: parent.
 */
#ifndef IMAGES_BUILD_BUILD_H
#define IMAGES_BUILD_BUILD_H

#include "images/base/reference.h"
#include "images/store/lock.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Where an image of the catalog comes from. */
enum build_source {
    SOURCE_ANY, /* Debian packages; where the host has none, a registry that has an equal */
    SOURCE_DEBIAN,
    SOURCE_REGISTRY,
};

struct build {
    const char *store;   /* where images are kept */
    const char *name;    /* of the image, checked */
    const char *from;    /* names the source to make it from (source.h), or NULL */
    const struct reference *reference; /* of a lock, or NULL; neither: a recipe */
    enum build_source source; /* of a recipe */
    const struct lock *locked; /* the exact packages for a recipe, or NULL */
    bool force; /* make it again if it exists */
    bool json; /* report events instead of text: progress.h */
};

/*
 * Makes the image, with progress on stderr. 0, also for an image that exists already;
 * -EINTR when a signal stopped it; or another negative errno. On failure the store is as it was.
 */
int build_image(const struct build *build, struct fault *fault);

#endif
