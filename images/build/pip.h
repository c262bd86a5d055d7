/*
 * Python packages from pip's index for an image of Debian packages, installed by the image's pip,
 * jailed as for `images add`, with the host's settings of indexes, proxies and certificates.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_PIP_H
#define IMAGES_BUILD_PIP_H

#include "images/base/progress.h"
#include "images/store/lock.h"
#include "sandbox/base/fault.h"

/* What to install; lists end with NULL; borrowed. */
struct pip_request {
    const char *const *requirements;
    const char *const *pruned; /* removed afterwards: patterns of glob(7), relative; or NULL */
    const struct lock *locked; /* install exactly these instead; or NULL */
    struct lock *lock;         /* records the installed packages; or NULL */
    const char *scratch; /* a directory for copies of settings' files: host_settings_read() */
};

/*
 * Installs into the tree at `root`, which must be configured. The packages are optional: if pip
 * fails, a one-line note says so and the image is unchanged; with a lock, failure is an error. 0,
 * -EINTR, or another negative errno.
 */
int pip_add(const char *root, const struct pip_request *request, struct progress *progress,
            struct fault *fault);

#endif
