#include "images/unpack/stream.h"

#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"

#include <archive_entry.h>
#include <string.h>

#define READ_SIZE (256 << 10)

/*
 * archive_read_support_filter_*() returns ARCHIVE_WARN if libarchive would run an external program:
 * refused.
 */
bool stream_support_filters(struct archive *archive)
{
    return archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
           archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(archive) == ARCHIVE_OK;
}

static int damaged(const struct stream *stream, struct fault *fault)
{
    const char *why = archive_error_string(stream->archive);
    char shown[256];
    return fault_set(fault, EBADMSG, "the archive cannot be read: %s",
                     member_name_for_people(why != NULL ? why : "it is damaged", shown));
}

int stream_open(struct stream *stream, int fd, struct fault *fault)
{
    struct archive_entry *entry;
    *stream = (struct stream){.archive = archive_read_new()};
    if (stream->archive == NULL || !stream_support_filters(stream->archive) ||
        archive_read_support_format_raw(stream->archive) != ARCHIVE_OK)
        return fault_set(fault, ENOTSUP, "this libarchive cannot read gzip, xz and zstd");
    if (archive_read_open_fd(stream->archive, fd, READ_SIZE) != ARCHIVE_OK)
        return damaged(stream, fault);
    /* The last filter is the file itself. Nested compression would multiply the expansion. */
    if (archive_filter_count(stream->archive) > 2)
        return fault_set(fault, EBADMSG, "the archive is refused: it is compressed twice");
    if (archive_read_next_header(stream->archive, &entry) != ARCHIVE_OK)
        return damaged(stream, fault);
    return 0;
}

ssize_t stream_read(struct stream *stream, const void **ret_bytes, struct fault *fault)
{
    size_t length = 0;
    /* A block may be empty without being the last. */
    while (length == 0) {
        la_int64_t offset;
        int r = archive_read_data_block(stream->archive, ret_bytes, &length, &offset);
        if (r == ARCHIVE_EOF)
            return 0;
        if (r != ARCHIVE_OK && r != ARCHIVE_WARN) /* ARCHIVE_RETRY: continuing after an error */
            return damaged(stream, fault);
    }
    stream->bytes += length;
    if (stream->bytes > STREAM_BYTES_MAX)
        return fault_set(fault, EFBIG, "the archive is refused: it expands to more than %d GiB",
                         (int)(STREAM_BYTES_MAX >> 30));
    return (ssize_t)length;
}

int stream_expand(int fd, int out_fd, struct fault *fault)
{
    OWNED(stream_close) struct stream stream = {0};
    int r = stream_open(&stream, fd, fault);
    while (r == 0) {
        const void *bytes = NULL;
        ssize_t got = stream_read(&stream, &bytes, fault);
        if (got <= 0)
            return (int)got;
        r = io_write(out_fd, bytes, (size_t)got);
        if (r == -EPIPE)
            return -ECANCELED;
        if (r < 0)
            r = fault_set(fault, -r, "cannot pass on the expanded archive: %m");
    }
    return r;
}

void stream_close(struct stream *stream)
{
    if (stream->archive != NULL)
        archive_read_free(stream->archive);
    stream->archive = NULL;
}
