/*
 * Unpacks archives into a root file system: a tar of a whole one, or Debian packages; layers.h
 * unpacks container images. Only jailed children read archives (extract.h), through descriptors
 * opened beforehand.
 *
 * Side: parent.
 */
#ifndef IMAGES_UNPACK_UNPACK_H
#define IMAGES_UNPACK_UNPACK_H

#include "images/base/progress.h"
#include "images/unpack/package.h"
#include "sandbox/base/fault.h"

#include <stddef.h>

/*
 * Unpacks the tar `archive_fd` as the root file system at `root`, an empty directory. 0; -EBADMSG
 * for a damaged or hostile archive; -EFBIG for one over the maxima of member.h; or another errno.
 */
int unpack_tar(const char *root, int archive_fd, struct progress *progress, struct fault *fault);

/* Copies a directory there (copy.h). */
int unpack_directory(const char *root, int directory_fd, struct fault *fault);

/* Unpacks the packages, in two processes. `fds` is borrowed. */
int unpack_packages(const char *root, const int *fds, size_t count, struct progress *progress,
                    struct fault *fault);

#endif
