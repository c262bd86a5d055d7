/*
 * Makes the tree of an image of the catalog, from packages of Debian, pip and npm.  Side: parent.
 */
#ifndef IMAGES_BUILD_RECIPE_MAKE_H
#define IMAGES_BUILD_RECIPE_MAKE_H

#include "images/base/progress.h"
#include "images/build/staging.h"
#include "images/store/catalog.h"
#include "images/store/lock.h"

/* Borrowed. */
struct recipe_making {
    const struct recipe *recipe;
    const struct staging *place; /* both directories are empty */
    const struct lock *locked;     /* the exact packages, or NULL */
    struct lock *lock;             /* records what was fetched; empty before */
    struct progress *progress;
};

/*
 * 0; -ENOENT this host has no apt, or no archive of Debian; -ESTALE a package of the lock is no
 * longer available; -EINTR; or another negative errno.
 */
int recipe_make(const struct recipe_making *making, struct fault *fault);

#endif
