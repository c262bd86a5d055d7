#include "images/registry/layout.h"

#include "images/registry/docker_archive.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define READ_SIZE (256 << 10)
#define INDEXES_MAX 4 /* that lead to one another */

/* Opens a regular file inside the directory. A descriptor, or a negative errno with a fault. */
static int file_open(int directory_fd, const char *path, struct fault *fault)
{
    struct stat status;
    OWNED_FD int fd = open_resolved(directory_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                                    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 || fstat(fd, &status) < 0)
        return fault_set(fault, fd < 0 ? -fd : errno, "cannot open %s of the image: %m", path);
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "%s of the image is not a regular file", path);
    return fd_take(&fd);
}

bool layout_is_there(int directory_fd)
{
    static const char *const names[] = {"oci-layout", "manifest.json"};
    struct stat status;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (fstatat(directory_fd, names[i], &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            return true;
    return false;
}

/* Reads a whole file that has no more than `maximum` bytes. */
static int document_load(int directory_fd, const char *path, struct buffer *text,
                         struct fault *fault)
{
    OWNED_FD int fd = file_open(directory_fd, path, fault);
    if (fd < 0)
        return fd;
    int r = text_file_read_all(fd, text);
    if (r == -ENOBUFS)
        return fault_set(fault, EFBIG, "%s of the image has more than %zu bytes", path,
                         text->maximum);
    return r < 0 ? fault_set(fault, -r, "cannot read %s of the image: %m", path) : 0;
}

static int blob_path(const struct digest *digest, char path[PATH_MAX])
{
    size_t colon = strcspn(digest->text, ":");
    return snprintf(path, PATH_MAX, "blobs/%.*s/%s", (int)colon, digest->text,
                    digest->text + colon + 1);
}

static int damaged(const char *path, struct fault *fault)
{
    return fault_set(fault, EBADMSG,
                     "the image is damaged: %s has not the content that its digest says", path);
}

/* Loads a document by its descriptor, and checks it. */
static int blob_load(int directory_fd, const struct descriptor *descriptor, struct buffer *text,
                     struct fault *fault)
{
    char path[PATH_MAX];
    blob_path(&descriptor->digest, path);
    int r = document_load(directory_fd, path, text, fault);
    if (r < 0)
        return r;
    if (text->length != descriptor->size ||
        !digest_matches(&descriptor->digest, text->data, text->length))
        return damaged(path, fault);
    return 0;
}

/* Reads a file whole: whether it is what its descriptor says. 0; -EBADMSG; or another errno. */
static int file_check(int fd, const char *path, const struct descriptor *descriptor,
                      struct fault *fault)
{
    OWNED_MEMORY char *bytes = malloc(READ_SIZE);
    OWNED(digest_release) struct digest_stream *stream = NULL;
    struct digest found;
    uint64_t size = 0;
    if (bytes == NULL || digest_open(&descriptor->digest, &stream) < 0)
        return fault_set(fault, ENOMEM, "cannot compute the digest of %s", path);
    for (ssize_t got; (got = read(fd, bytes, READ_SIZE)) != 0; size += (uint64_t)got)
        if (got < 0 || digest_update(stream, bytes, (size_t)got) < 0)
            return fault_set(fault, errno, "cannot read %s of the image: %m", path);
    if (size != descriptor->size || digest_finish(stream, &found) < 0 ||
        !digest_equal(&found, &descriptor->digest))
        return damaged(path, fault);
    return 0;
}

static int layer_give(int directory_fd, const struct descriptor *layer,
                      const struct digest *diff_id, struct layers *layers, struct fault *fault)
{
    char path[PATH_MAX];
    blob_path(&layer->digest, path);
    OWNED_FD int fd = file_open(directory_fd, path, fault);
    if (fd < 0)
        return fd;
    int r = file_check(fd, path, layer, fault);
    return r == 0 ? layers_give(layers, fd, diff_id, fault) : r;
}

/* From index.json down to the manifest for this machine. */
static int manifest_find(int directory_fd, const struct platform *platform,
                         struct document *document, struct lock *lock, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(MANIFEST_MAX);
    int r = document_load(directory_fd, "index.json", &text, fault);
    for (int i = 0; r == 0 && i < INDEXES_MAX; i++) {
        r = document_read(text.data, text.length, platform, document, fault);
        if (r < 0 || document->kind == DOCUMENT_MANIFEST)
            return r;
        text.length = 0;
        r = blob_load(directory_fd, &document->chosen, &text, fault);
        if (r == 0)
            r = lock_add(lock, LOCK_MANIFEST, NULL, &document->chosen, fault);
    }
    return r < 0 ? r : fault_set(fault, EINVAL, "its indexes lead to one another without end");
}

static int oci_unpack(int directory_fd, struct layers *layers, struct configuration *configuration,
                      struct lock *lock, struct fault *fault)
{
    const struct platform platform = platform_host();
    OWNED(buffer_release) struct buffer text = BUFFER(IMAGE_CONFIGURATION_MAX);
    OWNED_MEMORY struct document *document = calloc(1, sizeof(*document));
    if (document == NULL)
        return fault_set(fault, ENOMEM, "no memory for a manifest");
    int r = manifest_find(directory_fd, &platform, document, lock, fault);
    if (r == 0)
        r = blob_load(directory_fd, &document->configuration, &text, fault);
    if (r == 0)
        r = lock_add(lock, LOCK_CONFIGURATION, NULL, &document->configuration, fault);
    if (r == 0)
        r = image_configuration_read(text.data, text.length, &platform, configuration, fault);
    if (r == 0 && configuration->diff_id_count != document->layer_count)
        r = fault_set(fault, EINVAL, "its manifest has %zu layers, its configuration %zu",
                      document->layer_count, configuration->diff_id_count);
    for (size_t i = 0; r == 0 && i < document->layer_count; i++) {
        r = layer_give(directory_fd, &document->layers[i], &configuration->diff_ids[i], layers,
                       fault);
        if (r == 0)
            r = layers_attend(layers, fault);
        if (r == 0)
            r = lock_add(lock, LOCK_LAYER, NULL, &document->layers[i], fault);
    }
    return r;
}

/* Its layers have no digest but that of what they expand to, which the child checks. */
static int docker_unpack(int directory_fd, struct layers *layers,
                         struct configuration *configuration, struct fault *fault)
{
    const struct platform platform = platform_host();
    OWNED(docker_archive_release) struct docker_archive archive = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(IMAGE_CONFIGURATION_MAX);
    int r = document_load(directory_fd, "manifest.json", &text, fault);
    if (r == 0)
        r = docker_archive_read(text.data, text.length, &archive, fault);
    text.length = 0;
    if (r == 0)
        r = document_load(directory_fd, archive.configuration, &text, fault);
    if (r == 0)
        r = image_configuration_read(text.data, text.length, &platform, configuration, fault);
    if (r == 0 && configuration->diff_id_count != archive.layer_count)
        r = fault_set(fault, EINVAL, "its manifest has %zu layers, its configuration %zu",
                      archive.layer_count, configuration->diff_id_count);
    for (size_t i = 0; r == 0 && i < archive.layer_count; i++) {
        OWNED_FD int fd = file_open(directory_fd, archive.layers[i], fault);
        r = fd < 0 ? fd : layers_give(layers, fd, &configuration->diff_ids[i], fault);
        if (r == 0)
            r = layers_attend(layers, fault);
    }
    return r;
}

int layout_unpack(int directory_fd, struct layers *layers, struct configuration *ret_configuration,
                  struct lock *lock, struct fault *fault)
{
    OWNED(image_configuration_release) struct configuration configuration = {0};
    /* Newer versions of Docker save both; the OCI layout says more. */
    bool is_oci = faccessat(directory_fd, "oci-layout", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    int r = is_oci ? oci_unpack(directory_fd, layers, &configuration, lock, fault)
                   : docker_unpack(directory_fd, layers, &configuration, fault);
    if (r < 0)
        return r;
    *ret_configuration = configuration;
    configuration.environment = NULL;
    return 0;
}
