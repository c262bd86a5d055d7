#include "images/unpack/extract.h"

#include "images/unpack/package.h"
#include "images/unpack/stream.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define READ_SIZE (256 << 10)
/* Bytes allowed in a tar besides the contents of files: per member, and in total. */
#define MEMBER_BESIDE_MAX (4 << 10)
#define BESIDE_MAX (64 << 20)
#define CONTROL_MAX (1 << 20) /* of one control file or maintainer script */

static void archive_close(struct archive **archive)
{
    if (*archive != NULL)
        archive_read_free(*archive);
}

/* A reader for a package's inner tar, with decompression. */
static struct archive *tar_reader(void)
{
    struct archive *archive = archive_read_new();
    if (archive == NULL || !stream_support_filters(archive) ||
        archive_read_support_format_tar(archive) != ARCHIVE_OK)
        archive_close(&archive);
    return archive;
}

/* A reader for a decompressed tar. */
static struct archive *plain_tar_reader(void)
{
    struct archive *archive = archive_read_new();
    if (archive == NULL || archive_read_support_format_tar(archive) != ARCHIVE_OK)
        archive_close(&archive);
    return archive;
}

static int reader_absent(struct fault *fault)
{
    return fault_set(fault, ENOTSUP, "this libarchive cannot read tar with gzip, xz and zstd");
}

static int archive_fault(struct archive *archive, struct fault *fault)
{
    const char *why = archive_error_string(archive);
    char shown[256];
    return fault_set(fault, EBADMSG, "the archive cannot be read: %s",
                     member_name_for_people(why != NULL ? why : "it is damaged", shown));
}

/*
 * Whether a call of libarchive succeeded. ARCHIVE_RETRY counts as failure: never continue after an
 * error.
 */
static bool went_well(int r)
{
    return r == ARCHIVE_OK || r == ARCHIVE_WARN;
}

static int write_fault(int error, const char *name, struct fault *fault)
{
    char shown[256];
    return fault_set(fault, error, "cannot write %s in the image: %m%s",
                     member_name_for_people(name, shown),
                     error == ENOSPC || error == EDQUOT
                         ? "; make room, or set XDG_DATA_HOME to a place that has some"
                         : "");
}

/* Copies the body of a regular file, preserving holes. */
static int body_copy(struct archive *archive, int fd, const struct member *member,
                     struct fault *fault)
{
    uint64_t end = 0;
    for (;;) {
        const void *bytes;
        size_t length;
        la_int64_t offset;
        int r = archive_read_data_block(archive, &bytes, &length, &offset);
        if (r == ARCHIVE_EOF)
            break;
        if (!went_well(r) || offset < 0 || (uint64_t)offset + length > member->size)
            return archive_fault(archive, fault);
        r = io_write_at(fd, bytes, length, (uint64_t)offset);
        if (r < 0)
            return write_fault(-r, member->name, fault);
        end = (uint64_t)offset + length;
    }
    if (end < member->size && ftruncate(fd, (off_t)member->size) < 0)
        return write_fault(errno, member->name, fault);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, member->time};
    if (member->time.tv_sec > 0 && futimens(fd, times) < 0)
        return write_fault(errno, member->name, fault);
    return 0;
}

/* Reads the metadata of an entry. libarchive owns the texts until the next entry. */
static int member_read(struct archive_entry *entry, struct member *ret_member, struct fault *fault)
{
    const char *hard_link = archive_entry_hardlink(entry);
    struct member member = {
        .name = archive_entry_pathname(entry),
        .hard_link = hard_link != NULL,
        .link = hard_link != NULL ? hard_link : archive_entry_symlink(entry),
        .type = archive_entry_filetype(entry),
        .permissions = archive_entry_perm(entry),
        .time = {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)},
    };
    if (member.name == NULL)
        return fault_set(fault, EBADMSG,
                         "the archive is refused: a member has no name that could be read");
    la_int64_t size = archive_entry_size(entry);
    if (size < 0)
        return fault_set(fault, EBADMSG, "the archive is refused: a member has a negative size");
    member.size = (uint64_t)size;
    *ret_member = member;
    return 0;
}

/* Reads the next member: 1 and the member; 0 at the end of the archive. */
static int member_next(struct archive *archive, struct member *ret_member, struct fault *fault)
{
    struct archive_entry *entry;
    int r = archive_read_next_header(archive, &entry);
    if (r == ARCHIVE_EOF)
        return 0;
    if (!went_well(r))
        return archive_fault(archive, fault);
    r = member_read(entry, ret_member, fault);
    return r < 0 ? r : 1;
}

static int member_unpack(struct archive *archive, struct member_writer *writer,
                         const struct member *member, struct fault *fault)
{
    OWNED_FD int fd = -1;
    int r = member_writer_add(writer, member, &fd, fault);
    return r == 0 && fd >= 0 ? body_copy(archive, fd, member, fault) : r;
}

/* Unpacks a member of a package to its place, or skips it. */
static int package_member_unpack(struct archive *archive, struct member_writer *writer,
                                 const struct member *member, struct fault *fault)
{
    char plain[PATH_MAX] = "", place[PATH_MAX] = "", link[PATH_MAX] = "";
    int r = member_name_normalize(member->name, plain, fault);
    if (r < 0)
        return r;
    bool is_directory = !member->hard_link && member->type == S_IFDIR;
    if (!package_member_place(plain, is_directory, place))
        return fault_set(fault, ENAMETOOLONG, "a name in the package is too long");
    if (!package_member_wanted(place, member->type))
        return 0;
    struct member placed = *member;
    placed.name = place;
    if (member->hard_link) {
        r = member_name_normalize(member->link, plain, fault);
        if (r < 0 || !package_member_place(plain, false, link))
            return r < 0 ? r : fault_set(fault, ENAMETOOLONG, "a name in the package is too long");
        placed.link = link;
    }
    return member_unpack(archive, writer, &placed, fault);
}

static int members_unpack(struct archive *archive, struct member_writer *writer,
                          struct fault *fault)
{
    for (;;) {
        struct member member = {.name = ""};
        int r = member_next(archive, &member, fault);
        if (r <= 0)
            return r;
        r = writer->kind == TREE_PACKAGES ? package_member_unpack(archive, writer, &member, fault)
                                          : member_unpack(archive, writer, &member, fault);
        if (r < 0)
            return r;
    }
}

/* Unpacks all members of a tar. */
static int tar_read(struct archive *tar, enum tree_kind kind, struct tree_usage *usage,
                    struct fault *fault)
{
    OWNED(member_writer_close) struct member_writer writer;
    member_writer_open(&writer, usage, kind);
    return members_unpack(tar, &writer, fault);
}

/*
 * Refuses a tar with far more bytes than its files account for: bodies of members that are not
 * files, headers, zeros after the end. A few bytes of zstd can expand to gigabytes of these, which
 * take minutes to read.
 */
static int beside_check(const struct tree_usage *usage, uint64_t bytes, struct fault *fault)
{
    uint64_t most = atomic_load(&usage->bytes) + BESIDE_MAX +
                    (uint64_t)atomic_load(&usage->members) * MEMBER_BESIDE_MAX;
    if (bytes <= most)
        return 0;
    return fault_set(fault, EFBIG,
                     "the archive is refused: it expands to far more than its files have");
}

/* A tar in a file, compressed or not. */
struct file_source {
    struct stream stream;
    const struct tree_usage *usage;
    struct fault fault; /* of the stream, if `error` is not 0 */
    int error;
};

static la_ssize_t file_read_block(struct archive *tar, void *data, const void **ret_bytes)
{
    struct file_source *source = data;
    ssize_t got = stream_read(&source->stream, ret_bytes, &source->fault);
    if (got >= 0 && beside_check(source->usage, source->stream.bytes, &source->fault) < 0)
        got = -EFBIG;
    if (got >= 0)
        return got;
    source->error = (int)got;
    archive_set_error(tar, EIO, "%s", source->fault.text);
    return -1;
}

static void file_source_close(struct file_source *source)
{
    stream_close(&source->stream);
}

int extract_tar(int fd, struct tree_usage *usage, struct fault *fault)
{
    OWNED(archive_close) struct archive *tar = plain_tar_reader();
    OWNED(file_source_close) struct file_source source = {.usage = usage};
    if (tar == NULL)
        return reader_absent(fault);
    int r = stream_open(&source.stream, fd, fault);
    if (r < 0)
        return r;
    struct fault cause = {0};
    if (archive_read_open(tar, &source, NULL, file_read_block, NULL) == ARCHIVE_OK)
        r = tar_read(tar, TREE_WHOLE, usage, &cause);
    else
        r = archive_fault(tar, &cause);
    /* An error in the compressed file is the cause of the one in the tar. */
    if (source.error < 0)
        return fault_set(fault, -source.error, "%s", source.fault.text);
    if (r < 0)
        return fault_set(fault, -r, "%s", cause.text);
    if (atomic_load(&usage->members) == 0)
        return fault_set(fault, EBADMSG, "the archive holds nothing");
    return 0;
}

/* A plain tar in a pipe. */
struct pipe_source {
    const struct layer_source *layer;
    struct digest_stream *digest; /* of all bytes read, or NULL */
    const struct tree_usage *usage;
    char *bytes;        /* READ_SIZE of them */
    uint64_t came;      /* bytes read */
    bool cut;           /* the pipe ended before the layer did */
    struct fault fault; /* if too many bytes arrived */
};

static la_ssize_t pipe_read_block(struct archive *tar, void *data, const void **ret_bytes)
{
    struct pipe_source *source = data;
    ssize_t got;
    do
        got = read(source->layer->fd, source->bytes, READ_SIZE);
    while (got < 0 && errno == EINTR);
    source->cut = got == 0 && !atomic_load(source->layer->whole);
    *ret_bytes = source->bytes;
    source->came += got > 0 ? (uint64_t)got : 0;
    if (got >= 0 && !source->cut &&
        beside_check(source->usage, source->came, &source->fault) == 0 &&
        (source->digest == NULL || digest_update(source->digest, source->bytes, (size_t)got) == 0))
        return got;
    archive_set_error(tar, EIO, "its bytes do not come");
    return -1;
}

static void pipe_source_close(struct pipe_source *source)
{
    digest_release(&source->digest);
    free(source->bytes);
}

/* Reads the bytes after the end of the tar, and compares the digest of all bytes. */
static int layer_check(struct pipe_source *source, struct archive *tar, struct fault *fault)
{
    const void *bytes;
    la_ssize_t got = 1;
    struct digest found;
    while (got > 0)
        got = pipe_read_block(tar, source, &bytes);
    if (got < 0)
        return archive_fault(tar, fault);
    if (source->digest == NULL)
        return 0;
    if (digest_finish(source->digest, &found) < 0)
        return fault_set(fault, EIO, "cannot compute the digest of a layer");
    if (digest_equal(source->layer->expanded, &found))
        return 0;
    return fault_set(fault, EBADMSG,
                     "a layer is refused: it expands to %s, but the image's configuration says %s",
                     found.text, source->layer->expanded->text);
}

int extract_layer(const struct layer_source *layer, struct tree_usage *usage, struct fault *fault)
{
    OWNED(archive_close) struct archive *tar = plain_tar_reader();
    OWNED(pipe_source_close)
    struct pipe_source source = {.layer = layer, .usage = usage, .bytes = malloc(READ_SIZE)};
    if (tar == NULL)
        return reader_absent(fault);
    if (source.bytes == NULL)
        return fault_set(fault, ENOMEM, "no memory to read a layer");
    if (layer->expanded != NULL && digest_open(layer->expanded, &source.digest) < 0)
        return fault_set(fault, ENOTSUP, "cannot compute the digest of a layer");
    struct fault cause = {0};
    int r = 0;
    if (archive_read_open(tar, &source, NULL, pipe_read_block, NULL) == ARCHIVE_OK)
        r = tar_read(tar, TREE_LAYERS, usage, &cause);
    else
        r = archive_fault(tar, &cause);
    if (r == 0)
        r = layer_check(&source, tar, &cause);
    if (source.cut)
        return -ECANCELED;
    if (source.fault.text[0] != '\0')
        return fault_set(fault, EFBIG, "%s", source.fault.text);
    return r < 0 ? fault_set(fault, -r, "%s", cause.text) : 0;
}

/* libarchive reads the inner tar from the data of the outer member. */
static la_ssize_t inner_read(struct archive *inner, void *data, const void **ret_bytes)
{
    struct archive *outer = data;
    size_t length;
    la_int64_t offset;
    int r = archive_read_data_block(outer, ret_bytes, &length, &offset);
    if (r == ARCHIVE_EOF)
        return 0;
    if (went_well(r))
        return (la_ssize_t)length;
    archive_set_error(inner, archive_errno(outer), "%s", archive_error_string(outer));
    return -1;
}

/* Keeps one small file of the control tar for the postinstall step. */
static int control_keep(struct archive *archive, const struct member *member, size_t number,
                        struct fault *fault)
{
    const char *base = strrchr(member->name, '/');
    base = base != NULL ? base + 1 : member->name;
    if (strcmp(base, "control") != 0 && strcmp(base, "postinst") != 0)
        return 0;
    if (member->type != S_IFREG || member->size > CONTROL_MAX)
        return fault_set(fault, EBADMSG, "the package has a strange %s file", base);
    char path[64];
    snprintf(path, sizeof(path), SETUP_DIRECTORY "/%04zu.%s", number, base);
    OWNED_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return fault_set(fault, errno, "cannot create %s in the image: %m", path);
    return body_copy(archive, fd, member, fault);
}

static int control_unpack(struct archive *archive, size_t number, struct fault *fault)
{
    for (;;) {
        struct member member = {.name = ""};
        int r = member_next(archive, &member, fault);
        if (r <= 0)
            return r;
        r = control_keep(archive, &member, number, fault);
        if (r < 0)
            return r;
    }
}

/* Unpacks the current member of `outer`, a tar. */
static int inner_unpack(struct archive *outer, const char *name, struct member_writer *writer,
                        size_t number, struct fault *fault)
{
    bool control = strncmp(name, "control.tar", 11) == 0;
    if (!control && strncmp(name, "data.tar", 8) != 0)
        return 0;
    OWNED(archive_close) struct archive *inner = tar_reader();
    if (inner == NULL)
        return reader_absent(fault);
    if (archive_read_open(inner, outer, NULL, inner_read, NULL) != ARCHIVE_OK)
        return archive_fault(inner, fault);
    return control ? control_unpack(inner, number, fault) : members_unpack(inner, writer, fault);
}

int extract_package(int fd, size_t number, struct member_writer *writer, struct fault *fault)
{
    OWNED(archive_close) struct archive *outer = archive_read_new();
    if (outer == NULL || archive_read_support_format_ar(outer) != ARCHIVE_OK)
        return reader_absent(fault);
    if (archive_read_open_fd(outer, fd, READ_SIZE) != ARCHIVE_OK)
        return archive_fault(outer, fault);
    for (;;) {
        struct archive_entry *entry;
        int r = archive_read_next_header(outer, &entry);
        if (r == ARCHIVE_EOF)
            return 0;
        if (!went_well(r))
            return archive_fault(outer, fault);
        const char *name = archive_entry_pathname(entry);
        r = inner_unpack(outer, name != NULL ? name : "", writer, number, fault);
        if (r < 0)
            return r;
    }
}
