/*
 * The digest of a file while it is being written, computed by a thread that reads after the writer:
 * what comes of several layers at once is then hashed at once, and nobody who waits for a network
 * waits for that.
 *
 * The thread touches nothing but the file and its digest, and has all signals blocked.
 *
 * Side: parent, whose confined children are all there already (layers.h).
 */
#ifndef IMAGES_BASE_FILE_DIGEST_H
#define IMAGES_BASE_FILE_DIGEST_H

#include "images/base/digest.h"

#include <stdint.h>

struct file_digest;

struct file_digest_request {
    int fd;                    /* borrowed, until the release */
    const struct digest *like; /* whose algorithm is meant */
    void (*on_end)(void *data); /* called by the thread when it is done; NULL: nothing */
    void *data;
};

/* Starts the thread; nothing of the file is there as yet. 0 or a negative errno. */
int file_digest_start(const struct file_digest_request *request, struct file_digest **ret_digest);

/* So many bytes are there. `whole`: and there will be no more. */
void file_digest_extend(struct file_digest *digest, uint64_t size, bool whole);

/* 0 and the digest of the whole; -EAGAIN as long as it is not known; or another negative errno. */
int file_digest_result(struct file_digest *digest, struct digest *ret_digest);

/* Stops the thread. */
void file_digest_release(struct file_digest **digest);

#endif
