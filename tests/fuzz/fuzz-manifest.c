/*
 * Indexes, manifests and configurations: whatever is taken has digests that are digests, sizes
 * within their maxima, and no variable that a run may not have.
 */
#include "images/base/manifest.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_digest(const struct digest *digest)
{
    struct digest again;
    FUZZ_CHECK(digest_parse(digest->text, strlen(digest->text), &again) == 0);
}

static void check_document(const struct document *document)
{
    uint64_t bytes = 0;
    if (document->kind == DOCUMENT_INDEX) {
        check_digest(&document->chosen.digest);
        FUZZ_CHECK(document->chosen.size <= MANIFEST_MAX);
        return;
    }
    check_digest(&document->configuration.digest);
    FUZZ_CHECK(document->configuration.size <= IMAGE_CONFIGURATION_MAX);
    FUZZ_CHECK(document->layer_count <= LAYERS_MAX);
    for (size_t i = 0; i < document->layer_count; i++) {
        check_digest(&document->layers[i].digest);
        bytes += document->layers[i].size;
    }
    FUZZ_CHECK(bytes <= LAYER_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct platform platform = {"linux", "arm64", "v8"};
    struct document document;
    struct fault fault = {0};
    int r = manifest_read_document((const char *)data, size, &platform, &document, &fault);
    fuzz_check_fault(r, &fault);
    if (r == 0)
        check_document(&document);

    OWNED(manifest_release_configuration) struct configuration configuration = {0};
    struct fault second = {0};
    r = manifest_read_configuration((const char *)data, size, &platform, &configuration, &second);
    fuzz_check_fault(r, &second);
    for (size_t i = 0; r == 0 && i < configuration.diff_id_count; i++)
        check_digest(&configuration.diff_ids[i]);
    for (char **pair = configuration.environment; r == 0 && *pair != NULL; pair++)
        FUZZ_CHECK(manifest_wants_variable(*pair) && strchr(*pair, '\n') == NULL);
    return 0;
}
