/*
 * Makes one image, from its lock to its place in the store.  Side: parent.
 */
#ifndef IMAGES_BUILD_H
#define IMAGES_BUILD_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

struct build {
    const char *store;   /* where images are kept */
    const char *name;    /* of the image, checked */
    const char *archive; /* path of the tar of a root file system; NULL: the recipe `name` */
    bool force;          /* make it again if it is there */
};

/*
 * Makes the image, telling people on stderr how it comes along. 0, also when it was there already;
 * -EINTR when a signal stopped it; or another negative errno. On failure the store is as it was.
 */
int image_build(const struct build *build, struct fault *fault);

#endif
