/*
 * Fetches the layers of an image in parallel, and passes each on in order, as soon as it and those
 * below it are complete.
 *
 * An interrupted download is resumed; a 401 leads to a new login; a damaged blob is downloaded once
 * more if part of it came from an earlier fetch.
 *
 * Side: parent.  Source: OCI distribution-spec 1.1, "Pulling blobs"; RFC 9110, 14.
 */
#ifndef IMAGES_REGISTRY_BLOBS_H
#define IMAGES_REGISTRY_BLOBS_H

#include "images/base/progress.h"
#include "images/registry/registry_session.h"
#include "images/unpack/layers.h"

#define BLOBS_AT_ONCE 3

struct blobs_request {
    struct registry_session *session;
    const struct document *document; /* a manifest */
    const struct digest *diff_ids;   /* as many as layers */
    const char *store;               /* of images, for its room */
    int downloads_fd;                /* download_open_directory() */
    struct layers *layers;           /* receives them; NULL: only download */
    struct progress *progress;
};

/*
 * 0: all have been passed on. -EBADMSG for a wrong digest or size; -EINTR; -ENOSPC: the store has
 * no room for the missing downloads; or another negative errno. Downloads are kept, except damaged
 * ones.
 */
int blobs_fetch(const struct blobs_request *request, struct fault *fault);

#endif
