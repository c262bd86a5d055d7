/*
 * Unfinished downloads: files beside the images, named by their digest, so that the next attempt,
 * or the next fetch, resumes an interrupted download.
 *
 *     STORE/downloads/sha256-HEX
 *
 * A fetch holds the lock of each file that it writes; where another one has it, the blob goes into
 * a file without a name. A fetch removes files unused for a week.
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
    bool resumed; /* some of it is of an earlier fetch */
    uint64_t have; /* bytes */
    struct file_digest *digest; /* owned: of the bytes so far; NULL before download_start() */
    void (*on_digest)(void *data);
    void *data;
};

#define DOWNLOAD_NONE ((struct download){.fd = -1})

/* Takes up a blob where it stands. 0 or a negative errno. */
int download_begin(int directory_fd, const struct descriptor *wanted, struct download *ret_download,
                   struct fault *fault);

/*
 * Prepares it for bytes, once: from now on a thread hashes the existing and the arriving bytes. It
 * calls `on_digest` when it knows the digest of the whole file. 0 or a negative errno.
 */
int download_start(struct download *download, void (*on_digest)(void *data), void *data);

/* Takes the next bytes. 0; -EMSGSIZE for more than the blob has; or another negative errno. */
int download_write(struct download *download, const void *bytes, size_t length);

/* Starts over, discarding all bytes so far. 0 or a negative errno. */
int download_restart(struct download *download);

/* Whether the file has its full size; no bytes may be written then. */
bool download_is_complete(struct download *download);

/* Of a complete one: whether it is what it should be. 0; -EAGAIN not known yet; -EBADMSG; or another
 * negative errno. */
int download_check(struct download *download);

/* Removes the file of a blob that is not needed any more, if there is one. */
void download_forget(int directory_fd, const struct digest *digest);

/* Removes the file, if it still is under its name. The descriptor stays. */
void download_remove(struct download *download);
void download_release(struct download *download);

#endif
