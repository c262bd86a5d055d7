/*
 * An OCI image layout: a directory with oci-layout, index.json and blobs by their digests.
 *
 * Source: OCI image-spec, image-layout.md.
 */
#include "images/base/interrupt.h"
#include "images/registry/layout.h"
#include "sandbox/base/owned.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define READ_SIZE (256 << 10)
#define INDEXES_MAX 4 /* that lead to one another */

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
    int r = layout_read_document(directory_fd, path, text, fault);
    if (r < 0)
        return r;
    if (text->length != descriptor->size ||
        !digest_matches(&descriptor->digest, text->data, text->length))
        return damaged(path, fault);
    return 0;
}

/* Checks a whole file against its descriptor. 0; -EBADMSG; or another errno. */
static int file_check(int fd, const char *path, const struct descriptor *descriptor,
                      struct fault *fault)
{
    OWNED_MEMORY char *bytes = malloc(READ_SIZE);
    OWNED(digest_release) struct digest_stream *stream = NULL;
    struct digest found;
    uint64_t size = 0;
    if (bytes == NULL || digest_open(&descriptor->digest, &stream) < 0)
        return fault_set(fault, ENOMEM, "cannot compute the digest of %s", path);
    /* No further than it should be long: a hole may be endless. */
    for (ssize_t got; size <= descriptor->size && (got = read(fd, bytes, READ_SIZE)) != 0;
         size += (uint64_t)got) {
        if (interrupt_signal() != 0)
            return interrupt_fault(fault);
        if (got < 0 || digest_update(stream, bytes, (size_t)got) < 0)
            return fault_set(fault, errno, "cannot read %s of the image: %m", path);
    }
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
    OWNED_FD int fd = layout_open_file(directory_fd, path, fault);
    if (fd < 0)
        return fd;
    int r = file_check(fd, path, layer, fault);
    return r == 0 ? layers_give(layers, fd, diff_id, fault) : r;
}

/* Follows indexes from index.json to the manifest for this machine. */
static int manifest_find(int directory_fd, const struct platform *platform,
                         struct document *document, struct lock *lock, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(MANIFEST_MAX);
    int r = layout_read_document(directory_fd, "index.json", &text, fault);
    for (int i = 0; r == 0 && i < INDEXES_MAX; i++) {
        r = manifest_read_document(text.data, text.length, platform, document, fault);
        if (r < 0 || document->kind == DOCUMENT_MANIFEST)
            return r;
        text.length = 0;
        r = blob_load(directory_fd, &document->chosen, &text, fault);
        if (r == 0)
            r = lock_add(lock, LOCK_MANIFEST, NULL, &document->chosen, fault);
    }
    return r < 0 ? r : fault_set(fault, EINVAL, "its indexes lead to one another without end");
}

static int oci_read(int directory_fd, struct layers *layers, struct provenance *provenance,
                    struct fault *fault)
{
    struct configuration *configuration = &provenance->configuration;
    struct lock *lock = &provenance->lock;
    const struct platform platform = manifest_platform();
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
        r = manifest_read_configuration(text.data, text.length, &platform, configuration, fault);
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

static bool oci_matches(const struct source_input *input)
{
    return layout_is_in(input, "oci-layout");
}

static int oci_make(const struct source_input *input, const struct source_site *site,
                    struct provenance *provenance, struct fault *fault)
{
    return layout_unpack(input->fd, site, oci_read, provenance, fault);
}

const struct image_source source_oci_layout = {
    .help = "an OCI layout: a directory, or an archive of one",
    .matches = oci_matches,
    .make = oci_make,
};
