/*
 * The documents that describe an image: index, manifest and configuration, of OCI and of Docker.
 *
 * Pure parsers of untrusted JSON from a registry or an archive. Side: parent. Source: OCI
 * image-spec 1.1, image-index.md, manifest.md, config.md; distribution, "Image Manifest Version 2,
 * Schema 2".
 */
#ifndef IMAGES_BASE_MANIFEST_H
#define IMAGES_BASE_MANIFEST_H

#include "images/base/digest.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_MAX (4 << 20) /* bytes of an index or manifest, as the specification advises */
#define IMAGE_CONFIGURATION_MAX (8 << 20) /* of a configuration */
#define INDEX_ENTRIES_MAX 1024
#define LAYERS_MAX 256
#define VARIABLES_MAX 1000 /* of an image's environment */
#define VARIABLES_LENGTH_MAX (256 << 10) /* bytes of all of them */
#define LAYER_BYTES_MAX (UINT64_C(16) << 30) /* all compressed layers of an image together */
#define PLATFORM_TEXT_MAX 64

/* The Accept header for a registry: every type known to manifest_read_document(). */
#define MANIFEST_ACCEPT                                                                            \
    "application/vnd.oci.image.index.v1+json, "                                                    \
    "application/vnd.docker.distribution.manifest.list.v2+json, "                                  \
    "application/vnd.oci.image.manifest.v1+json, "                                                 \
    "application/vnd.docker.distribution.manifest.v2+json"

struct platform {
    const char *os; /* "linux" */
    const char *architecture; /* "amd64" */
    const char *variant; /* "v8", or NULL: any */
};

/* The platform of this machine; source: uname(2). */
struct platform manifest_platform(void);

struct descriptor {
    struct digest digest;
    uint64_t size; /* bytes */
};

enum document_kind {
    DOCUMENT_INDEX,
    DOCUMENT_MANIFEST,
};

struct document {
    enum document_kind kind;
    struct descriptor chosen; /* of an index: the document for the platform */
    struct descriptor configuration; /* of a manifest, like the following members */
    struct descriptor layers[LAYERS_MAX]; /* the lowest first */
    size_t layer_count;
};

/*
 * Reads an index or a manifest. 0; -EINVAL: something else, damaged or too large; -ENOTSUP: an
 * unknown kind, media type or digest, named in the fault; -ENOENT: an index without an entry for
 * the platform; the fault lists its platforms.
 */
int manifest_read_document(const char *json, size_t length, const struct platform *platform,
                           struct document *ret_document, struct fault *fault);

/* The configuration of an image; owned: manifest_release_configuration() frees. */
struct configuration {
    struct digest diff_ids[LAYERS_MAX]; /* of the layers, uncompressed */
    size_t diff_id_count;
    char **environment; /* NULL-terminated NAME=VALUE, filtered for a run */
};

/*
 * Reads a configuration and compares its platform. 0; -EINVAL; -ENOTSUP; -ENOEXEC for another
 * platform, which the fault names.
 */
int manifest_read_configuration(const char *json, size_t length, const struct platform *platform,
                                struct configuration *ret_configuration, struct fault *fault);
void manifest_release_configuration(struct configuration *configuration);

/*
 * Whether a run may have this variable of an image: it must have a plain name and a value without
 * control characters, and must not describe the snippet's identity or directories, which the run
 * sets, or control the dynamic linker.
 */
bool manifest_wants_variable(const char *pair);

#endif
