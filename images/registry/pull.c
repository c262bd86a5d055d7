#include "images/registry/pull.h"

#include "images/registry/blobs.h"
#include "images/registry/download.h"
#include "images/registry/registry_session.h"
#include "images/unpack/layers.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <string.h>

#define INDEXES_MAX 4 /* that lead to one another */

/* Facts found out before the layers are fetched. */
struct pull_finding {
    struct platform platform;
    struct document document; /* the manifest at the end */
    struct session_document piece;
};

static void finding_free(struct pull_finding **finding)
{
    if (*finding != NULL)
        buffer_release(&(*finding)->piece.text);
    free(*finding);
    *finding = NULL;
}

static int piece_note(const struct pull_finding *finding, enum lock_kind kind,
                      struct provenance *provenance, struct fault *fault)
{
    return lock_add(&provenance->lock, kind, finding->piece.url, &finding->piece.descriptor, fault);
}

/* Follows indexes from the tag or digest to the manifest for this machine. */
static int manifest_find(struct registry_session *session, struct pull_finding *finding,
                         struct provenance *provenance, struct fault *fault)
{
    const struct descriptor *wanted = NULL;
    struct descriptor chosen;
    for (int i = 0; i < INDEXES_MAX; i++) {
        buffer_release(&finding->piece.text);
        finding->piece.text.maximum = MANIFEST_MAX;
        int r = session_get_manifest(session, wanted, &finding->piece, fault);
        if (r == 0)
            r = piece_note(finding, LOCK_MANIFEST, provenance, fault);
        if (r == 0)
            r = manifest_read_document(finding->piece.text.data, finding->piece.text.length,
                                       &finding->platform, &finding->document, fault);
        if (r < 0 || finding->document.kind == DOCUMENT_MANIFEST)
            return r;
        chosen = finding->document.chosen;
        wanted = &chosen;
    }
    return fault_set(fault, EINVAL, "its indexes lead to one another without end");
}

static int configuration_get(struct registry_session *session, struct pull_finding *finding,
                             struct provenance *provenance, struct fault *fault)
{
    buffer_release(&finding->piece.text);
    finding->piece.text.maximum = IMAGE_CONFIGURATION_MAX;
    int r = session_get_blob(session, &finding->document.configuration, &finding->piece, fault);
    if (r == 0)
        r = piece_note(finding, LOCK_CONFIGURATION, provenance, fault);
    if (r == 0)
        r = manifest_read_configuration(finding->piece.text.data, finding->piece.text.length,
                                        &finding->platform, &provenance->configuration, fault);
    if (r == 0 && provenance->configuration.diff_id_count != finding->document.layer_count)
        r = fault_set(fault, EINVAL, "its manifest has %zu layers, its configuration %zu",
                      finding->document.layer_count, provenance->configuration.diff_id_count);
    return r;
}

static int layers_note(const struct registry_session *session, const struct document *document,
                       struct lock *lock, struct fault *fault)
{
    OWNED_MEMORY char *url = malloc(HTTP_URL_MAX);
    int r = url == NULL ? fault_set(fault, ENOMEM, "no memory for an address") : 0;
    for (size_t i = 0; r == 0 && i < document->layer_count; i++) {
        session_blob_url(session, &document->layers[i].digest, url);
        r = lock_add(lock, LOCK_LAYER, url, &document->layers[i], fault);
    }
    return r;
}

/*
 * Whether to keep the downloads for the next fetch: not after success, on a full disk, or if the
 * content is damaged or hostile.
 */
static bool is_worth_keeping(int r)
{
    return r < 0 && r != -EBADMSG && r != -EFBIG && r != -ENOSPC && r != -EDQUOT;
}

static int layers_get(const struct pull *pull, struct registry_session *session,
                      const struct document *document, const struct digest *diff_ids,
                      struct layers *layers, struct fault *fault)
{
    char size[32];
    uint64_t bytes = 0;
    OWNED_FD int downloads_fd = -1;
    int r = download_open_directory(pull->store, &downloads_fd, fault);
    if (r < 0)
        return r;
    for (size_t i = 0; i < document->layer_count; i++)
        bytes += document->layers[i].size;
    progress_step(pull->progress, "downloading %zu layers, %s", document->layer_count,
                  progress_size_text(bytes, size));
    const struct blobs_request request = {
        .session = session,
        .document = document,
        .diff_ids = diff_ids,
        .store = pull->store,
        .downloads_fd = downloads_fd,
        .layers = layers,
        .progress = pull->progress,
    };
    r = blobs_fetch(&request, fault);
    if (r == 0 && layers != NULL) {
        progress_step(pull->progress, "unpacking");
        r = layers_finish(layers, pull->progress, fault);
    }
    bool forget = layers != NULL && !is_worth_keeping(r);
    for (size_t i = 0; forget && i < document->layer_count; i++)
        download_forget(downloads_fd, &document->layers[i].digest);
    return r;
}

static int pull_with(const struct pull *pull, struct registry_session *session,
                     struct layers *layers, struct provenance *provenance, struct fault *fault)
{
    OWNED(finding_free) struct pull_finding *finding = calloc(1, sizeof(*finding));
    if (finding == NULL)
        return fault_set(fault, ENOMEM, "no memory to describe an image");
    finding->platform = manifest_platform();
    int r = manifest_find(session, finding, provenance, fault);
    if (r == 0)
        r = configuration_get(session, finding, provenance, fault);
    if (r == 0)
        r = layers_note(session, &finding->document, &provenance->lock, fault);
    return r == 0 ? layers_get(pull, session, &finding->document,
                               provenance->configuration.diff_ids, layers, fault)
                  : r;
}

int pull_image(const struct pull *pull, struct provenance *provenance, struct fault *fault)
{
    /* This order matters: the children must be started before libcurl may start threads. */
    OWNED(layers_release) struct layers layers = LAYERS_NONE;
    OWNED(http_release) struct http *http = NULL;
    OWNED(session_close) struct registry_session session = {0};
    const bool unpacks = pull->rootfs != NULL;
    int r = unpacks ? layers_start(&layers, pull->rootfs, fault) : 0;
    if (r == 0)
        r = http_open(&http, fault);
    if (r < 0)
        return r;
    session_open(&session, http, pull->reference);
    provenance->source = malloc(REFERENCE_TEXT_MAX);
    if (provenance->source == NULL)
        return fault_set(fault, ENOMEM, "no memory for the name of the image");
    reference_format(pull->reference, provenance->source);
    progress_step(pull->progress, "asking %s", pull->reference->host);
    return pull_with(pull, &session, unpacks ? &layers : NULL, provenance, fault);
}
