/*
 * Unfinished downloads: files beside the images, named by their digest, so that the next attempt,
 * or the next fetch, resumes an interrupted download.
 *
 *     STORE/downloads/sha256-HEX
 *
 * A fetch locks each file that it writes; if another fetch holds the lock, it uses an unnamed file.
 * A fetch removes files unused for a week.
 *
 * Side: parent.
 */
#ifndef IMAGES_REGISTRY_DOWNLOAD_H
#define IMAGES_REGISTRY_DOWNLOAD_H

#include "images/base/file_digest.h"
#include "images/base/manifest.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Opens the directory, creating it if needed, and removes stale files. 0 or a negative errno. */
int download_open_directory(const char *store, int *ret_fd, struct fault *fault);

struct download {
    struct descriptor wanted;
    int directory_fd; /* borrowed */
    int fd; /* owned */
    bool resumed; /* part of it is from an earlier fetch */
    uint64_t have; /* bytes */
    struct file_digest *digest; /* owned: hashes the bytes; NULL before download_start() */
    void (*on_digest)(void *data);
    void *data;
};

#define DOWNLOAD_NONE ((struct download){.fd = -1})

/* Resumes or begins the download of a blob. 0 or a negative errno. */
int download_begin(int directory_fd, const struct descriptor *wanted, struct download *ret_download,
                   struct fault *fault);

/*
 * Prepares it for writing. Call it once. From now on a thread hashes the existing and the arriving
 * bytes; it calls `on_digest` when it has the digest of the whole file. 0 or a negative errno.
 */
int download_start(struct download *download, void (*on_digest)(void *data), void *data);

/* Writes the next bytes. 0; -EMSGSIZE past the blob's size; or another negative errno. */
int download_write(struct download *download, const void *bytes, size_t length);

/* Starts over, discarding all bytes so far. 0 or a negative errno. */
int download_restart(struct download *download);

/* Whether the file has its full size; no bytes may be written then. */
bool download_is_complete(struct download *download);

/*
 * Checks the digest of a complete file. 0; -EAGAIN: not known yet; -EBADMSG; or another negative
 * errno.
 */
int download_check(struct download *download);

/* Removes the file, if any, of a blob no longer needed. */
void download_forget(int directory_fd, const struct digest *digest);

/* Removes the file, unless its name now belongs to another. The descriptor stays open. */
void download_remove(struct download *download);
void download_release(struct download *download);

#endif
