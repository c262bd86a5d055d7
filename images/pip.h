/*
 * Python packages for an image of Debian packages, from pip's index: by the pip of the image, confined
 * as for `images add`, with the host's settings of indexes, proxies and certificates.
 *
 * Side: parent.
 */
#ifndef IMAGES_PIP_H
#define IMAGES_PIP_H

#include "images/progress.h"
#include "sandbox/base/fault.h"

/*
 * Installs the requirements, a list that ends with NULL, into the tree at `root`, which must be
 * configured. Without them the image is of use too: where pip fails, a note of one line says so and
 * the image stays as it was. 0, -EINTR, or another negative errno where the tree is in doubt.
 */
int pip_add(const char *root, const char *const *requirements, struct progress *progress,
            struct fault *fault);

#endif
