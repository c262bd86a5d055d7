/*
 * Fetches the layers of an image, several at a time, and gives each on in order as soon as it and
 * those below it are whole.
 *
 * A break is followed by another try where it stopped; an answer of 401 by another login; a blob that
 * turns out damaged by one try from its start, if a part of it was of an earlier fetch.
 *
 * Side: parent.  Source: OCI distribution-spec 1.1, "Pulling blobs"; RFC 9110, 14.
 */
#ifndef IMAGES_REGISTRY_BLOBS_H
#define IMAGES_REGISTRY_BLOBS_H

#include "images/base/progress.h"
#include "images/registry/session.h"
#include "images/unpack/layers.h"

#define BLOBS_AT_ONCE 3

struct blobs_request {
    struct session *session;
    const struct document *document; /* a manifest */
    const struct digest *diff_ids;   /* as many as layers */
    int downloads_fd;                /* download_open_directory() */
    struct layers *layers;           /* where they go; NULL: nowhere, they are only downloaded */
    struct progress *progress;
};

/*
 * 0: all were given on. -EBADMSG for one that has not its digest or size; -EINTR; or another negative
 * errno. Of what came, only a damaged blob is removed.
 */
int blobs_fetch(const struct blobs_request *request, struct fault *fault);

#endif
