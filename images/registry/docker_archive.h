/*
 * manifest.json of a `docker save` archive: the files of one image.
 *
 * A pure parser of untrusted JSON from an archive. Side: parent. Source: moby, image/spec/v1.2.md,
 * "Combined Image JSON + Filesystem Changeset Format".
 */
#ifndef IMAGES_REGISTRY_DOCKER_ARCHIVE_H
#define IMAGES_REGISTRY_DOCKER_ARCHIVE_H

#include "sandbox/base/fault.h"

#include <stddef.h>

/* Paths in the archive, without ".."; owned: docker_archive_release() frees. */
struct docker_archive {
    char *configuration;
    char **layers; /* the lowest first */
    size_t layer_count;
};

/* 0; -EINVAL if it is damaged, has no or several images, or more than LAYERS_MAX layers. */
int docker_archive_read(const char *json, size_t length, struct docker_archive *ret_archive,
                        struct fault *fault);
void docker_archive_release(struct docker_archive *archive);

#endif
