/*
 * Reads archives into the tree at the working directory: a tar of a whole one, or Debian packages
 * (ar with a control and a data tar). The only part that reads them.
 *
 * tar and ar, with gzip, zstd, xz or no compression: everything else of libarchive stays off.
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
 * Unpacks the tar of a whole root file system, compressed or not, from where `fd`, borrowed,
 * stands, counting into `usage`. 0; -EBADMSG for a damaged or hostile archive; -EFBIG for one over
 * the maxima of member.h and stream.h; or another negative errno.
 */
int extract_tar(int fd, struct tree_usage *usage, struct fault *fault);

/* One layer of an image, as another process expands it (stream_expand()) into a pipe. */
struct layer_source {
    int fd;                        /* borrowed: the end of the pipe to read from */
    const struct digest *expanded; /* of all that comes, borrowed; NULL: not known */
    const atomic_bool *whole; /* set by the writer before it closes: the stream is complete */
};

/*
 * Applies it to the tree. As extract_tar(), and -EBADMSG for a layer of another digest;
 * -ECANCELED without a fault: the writer gave up, and reports why.
 */
int extract_layer(const struct layer_source *layer, struct tree_usage *usage, struct fault *fault);

/*
 * Unpacks a package with a writer of TREE_PACKAGES, and keeps its control file and postinst script
 * as those of `number` in SETUP_DIRECTORY, which is there. As extract_tar().
 */
int extract_package(int fd, size_t number, struct member_writer *writer, struct fault *fault);

#endif
