/*
 * The tar in a file, decompressed: gzip, zstd, xz or none.
 *
 * The expanded bytes are limited here. The sizes of members do not bound them: with bodies of
 * skipped members, overlapping blocks of a sparse file and extended headers, a single call of the
 * tar reader could run almost for ever.
 *
 * Side: jailed child.  Source: libarchive's archive_read(3), "raw".
 */
#ifndef IMAGES_UNPACK_STREAM_H
#define IMAGES_UNPACK_STREAM_H

#include "images/unpack/member.h"
#include "sandbox/base/fault.h"

#include <archive.h>
#include <sys/types.h>

/* Limit for a whole tar: bodies, headers and skipped members. */
#define STREAM_BYTES_MAX (TREE_BYTES_MAX + (UINT64_C(4) << 30))

struct stream {
    struct archive *archive; /* owned */
    uint64_t bytes;          /* so far */
};

/* Enables the filters that this program allows in a reader. */
bool stream_support_filters(struct archive *archive);

/*
 * Reads `fd` (borrowed) from its current position. 0; -EBADMSG; -ENOTSUP: libarchive lacks a
 * filter.
 */
int stream_open(struct stream *stream, int fd, struct fault *fault);

/*
 * Returns the number of next bytes, owned by the stream until the next call; 0 at the end; -EBADMSG
 * for a damaged file; -EFBIG for one that expands to more than STREAM_BYTES_MAX.
 */
ssize_t stream_read(struct stream *stream, const void **ret_bytes, struct fault *fault);

/*
 * Expands everything into the pipe `out_fd` (borrowed). 0; errors of stream_read(); -ECANCELED
 * without a fault: the reader gave up, and reports why; or another negative errno.
 */
int stream_expand(int fd, int out_fd, struct fault *fault);

void stream_close(struct stream *stream);

#endif
