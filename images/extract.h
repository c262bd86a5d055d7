/*
 * Reads archives into the tree at the working directory: a tar of a whole one, or Debian packages
 * (ar with a control and a data tar). The only part that reads them.
 *
 * tar and ar, with gzip, zstd, xz or no compression: everything else of libarchive stays off.
 *
 * Side: confined child (see unpack.h).  Source: deb(5), tar(5), libarchive's archive_read(3).
 */
#ifndef IMAGES_EXTRACT_H
#define IMAGES_EXTRACT_H

#include "images/member.h"
#include "images/registry/digest.h"
#include "sandbox/base/fault.h"

#include <stddef.h>

/* A tar: of a whole root file system, or one layer of an image. */
struct tar_source {
    int fd; /* borrowed, read from where it stands */
    enum tree_kind kind;
    const struct digest *expanded; /* of what it expands to, borrowed; NULL: not known */
};

/*
 * Unpacks a tar, counting into `usage`. 0; -EBADMSG for a damaged or hostile archive, or one that
 * expands to something else; -EFBIG for one over the maxima of member.h; or another negative errno.
 */
int tar_unpack(const struct tar_source *source, struct tree_usage *usage, struct fault *fault);

/*
 * Unpacks a package with a writer of TREE_PACKAGES, and keeps its control file and postinst script as
 * those of `number` in SETUP_DIRECTORY, which is there. As tar_unpack().
 */
int package_unpack(int fd, size_t number, struct tree_writer *writer, struct fault *fault);

#endif
