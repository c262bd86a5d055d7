/*
 * Unpacks archives into the tree at the working directory: a tar of a whole tree, or Debian
 * packages (ar with a control and a data tar). No other module reads archives.
 *
 * Only tar and ar, with gzip, zstd, xz or no compression, are enabled in libarchive.
 *
 * Side: jailed child (see unpack.h).  Source: deb(5), tar(5), libarchive's archive_read(3).
 */
#ifndef IMAGES_UNPACK_EXTRACT_H
#define IMAGES_UNPACK_EXTRACT_H

#include "images/base/digest.h"
#include "images/unpack/member.h"
#include "sandbox/base/fault.h"

#include <stddef.h>

/*
 * Unpacks the tar of a whole root file system, compressed or not, from the current position of `fd`
 * (borrowed), counting into `usage`. 0; -EBADMSG for a damaged or hostile archive; -EFBIG for one
 * over the maxima of member.h and stream.h; or another negative errno.
 */
int extract_tar(int fd, struct tree_usage *usage, struct fault *fault);

/* One layer of an image, expanded into a pipe by another process (stream_expand()). */
struct layer_source {
    int fd;                        /* borrowed: the end of the pipe to read from */
    const struct digest *expanded; /* digest of all bytes, borrowed; NULL: unknown */
    const atomic_bool *whole; /* set by the writer before it closes: the stream is complete */
};

/*
 * Applies the layer to the tree. Returns like extract_tar(); -EBADMSG also for a wrong digest;
 * -ECANCELED without a fault: the writer gave up, and reports why.
 */
int extract_layer(const struct layer_source *layer, struct tree_usage *usage, struct fault *fault);

/*
 * Unpacks a package with a writer of TREE_PACKAGES, and keeps its control file and postinst script
 * under `number` in SETUP_DIRECTORY, which must exist. Returns like extract_tar().
 */
int extract_package(int fd, size_t number, struct member_writer *writer, struct fault *fault);

#endif
