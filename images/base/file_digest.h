/*
 * The digest of a file while it is being written, computed by a thread that reads after the writer:
 * layers that download in parallel are hashed in parallel, and the download never waits for
 * hashing.
 *
 * The thread uses only the file and its digest, with all signals blocked.
 *
 * Side: parent, after it has started all its jailed children (layers.h).
 */
#ifndef IMAGES_BASE_FILE_DIGEST_H
#define IMAGES_BASE_FILE_DIGEST_H

#include "images/base/digest.h"

#include <stdint.h>

struct file_digest;

struct file_digest_request {
    int fd;                    /* borrowed, until the release */
    const struct digest *like; /* gives the algorithm */
    void (*on_end)(void *data); /* called by the thread when it is done; NULL: nothing */
    void *data;
};

/* Starts the thread; the file is still empty. 0 or a negative errno. */
int file_digest_start(const struct file_digest_request *request, struct file_digest **ret_digest);

/* The file has this many bytes now. `whole`: no more will come. */
void file_digest_extend(struct file_digest *digest, uint64_t size, bool whole);

/* 0 and the digest of the whole file; -EAGAIN: not known yet; or another negative errno. */
int file_digest_result(struct file_digest *digest, struct digest *ret_digest);

/* Stops the thread. */
void file_digest_release(struct file_digest **digest);

#endif
