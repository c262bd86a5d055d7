/*
 * Blobs on their way: files aside of the images, named by their digest, so that what came before a
 * break is there for the next try, also that of the next fetch.
 *
 *     STORE/downloads/sha256-HEX
 *
 * A fetch holds the lock of each file that it writes; where another one has it, the blob goes into a
 * file without a name. What nobody has touched for a week is removed by the next fetch.
 *
 * Side: parent.
 */
#ifndef IMAGES_REGISTRY_DOWNLOAD_H
#define IMAGES_REGISTRY_DOWNLOAD_H

#include "images/base/file_digest.h"
#include "images/base/manifest.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Opens the directory, making it if it is absent, and removes what is old. 0 or a negative errno. */
int download_open_directory(const char *store, int *ret_fd, struct fault *fault);

struct download {
    struct descriptor wanted;
    int directory_fd; /* borrowed */
    int fd; /* owned */
    bool resumed; /* some of it is of an earlier fetch */
    uint64_t have; /* bytes */
    struct file_digest *digest; /* owned: of what is there; NULL before download_start() */
    void (*on_digest)(void *data);
    void *data;
};

#define DOWNLOAD_NONE ((struct download){.fd = -1})

/* Takes up a blob where it stands. 0 or a negative errno. */
int download_begin(int directory_fd, const struct descriptor *wanted, struct download *ret_download,
                   struct fault *fault);

/*
 * Readies it for bytes, unless that was done: from now on a thread reads what is there and what comes.
 * It calls `on_digest` when it knows the digest of the whole. 0 or a negative errno.
 */
int download_start(struct download *download, void (*on_digest)(void *data), void *data);

/* Takes the next bytes. 0; -EMSGSIZE for more than the blob has; or another negative errno. */
int download_write(struct download *download, const void *bytes, size_t length);

/* Begins anew: what came is worth nothing. 0 or a negative errno. */
int download_restart(struct download *download);

/* Whether all that it should have is there; then no more is to be written. */
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
