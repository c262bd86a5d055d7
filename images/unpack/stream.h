/*
 * The tar in a file, decompressed: gzip, zstd, xz or none.
 *
 * It is counted. The sizes of members do not bound it: bodies of what is passed over, blocks of a
 * sparse file that lie upon each other and extended headers let a reader of the tar go on and on
 * within one call.
 *
 * Side: jailed child.  Source: libarchive's archive_read(3), "raw".
 */
#ifndef IMAGES_UNPACK_STREAM_H
#define IMAGES_UNPACK_STREAM_H

#include "images/unpack/member.h"
#include "sandbox/base/fault.h"

#include <archive.h>
#include <sys/types.h>

/* Of all that a tar holds: bodies, headers, and what no member of the tree is made from. */
#define STREAM_BYTES_MAX (TREE_BYTES_MAX + (UINT64_C(4) << 30))

struct stream {
    struct archive *archive; /* owned */
    uint64_t bytes;          /* so far */
};

/* What archive_read_support_filter_*() this program wants, added to a reader. */
bool stream_support_filters(struct archive *archive);

/* Reads `fd`, borrowed, from where it stands. 0; -EBADMSG; -ENOTSUP for such a libarchive. */
int stream_open(struct stream *stream, int fd, struct fault *fault);

/*
 * The next bytes, which are the stream's until the next call: their number; 0 at the end; -EBADMSG
 * for a damaged file; -EFBIG for one that expands to more than STREAM_BYTES_MAX.
 */
ssize_t stream_read(struct stream *stream, const void **ret_bytes, struct fault *fault);

/*
 * Expands all of it into the pipe `out_fd`, borrowed. 0; as stream_read(); -ECANCELED without a
 * fault: the reader gave up, and reports why; or another negative errno.
 */
int stream_expand(int fd, int out_fd, struct fault *fault);

void stream_close(struct stream *stream);

#endif
