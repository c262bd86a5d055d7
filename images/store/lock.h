/*
 * lock.json, next to the record of an image: everything fetched, with digests.
 *
 *     {"source":"docker.io/library/python:3.13","fetched":[
 *       {"kind":"manifest","url":"https://...","digest":"sha256:...","size":1}, ...]}
 *     {"source":"Debian trixie packages","recipe":"python","fetched":[
 *       {"kind":"deb","url":"http://...","name":"bash","version":"5.2.37-2+b8","digest":"...","size":1},
 *       {"kind":"pip","name":"google-genai","version":"1.2","digest":"sha256:...","size":0}, ...],
 *      "npm":{"node_modules/ws":{"version":"8.21.0","integrity":"sha512-..."}, ...}}
 *
 * Side: parent.
 */
#ifndef IMAGES_STORE_LOCK_H
#define IMAGES_STORE_LOCK_H

#include "images/base/manifest.h"
#include "images/base/reference.h"
#include "sandbox/base/fault.h"

#include <stddef.h>

#define LOCK_FILE "lock.json"
#define LOCK_MAX (4 << 20) /* bytes */

enum lock_kind {
    LOCK_MANIFEST, /* or an index */
    LOCK_CONFIGURATION,
    LOCK_LAYER,
    LOCK_DEB,
    LOCK_PIP,
};

struct lock_entry {
    enum lock_kind kind;
    char *url;  /* or NULL: from a file, or an index */
    char *name; /* of a package, else NULL */
    char *version;
    struct descriptor descriptor;
};

/* Empty is {0}; owned: lock_release() frees. */
struct lock {
    struct lock_entry *entries;
    size_t count;
    char *recipe; /* of an image of packages, else NULL */
    char *npm;    /* JSON from lock_npm_take(); or NULL */
};

/* Adds one piece; `url` is copied. 0 or -ENOMEM. */
int lock_add(struct lock *lock, enum lock_kind kind, const char *url,
             const struct descriptor *descriptor, struct fault *fault);

/* A package; the texts are copied. 0 or a negative errno. */
int lock_add_package(struct lock *lock, const struct lock_entry *entry, struct fault *fault);

/* Writes the file into the directory, unless the lock is empty. 0 or a negative errno. */
int lock_write(int directory_fd, const struct lock *lock, const char *source, struct fault *fault);

/*
 * Reads a lock of a registry image: the image's reference with the digest of its tag, which
 * determines everything else. 0; -EINVAL unless it is such a lock.
 */
int lock_read(const char *json, size_t length, struct reference *ret_reference,
              struct fault *fault);

/*
 * Reads a lock of an image of packages. 0; 1: a lock of another kind of image; -EINVAL: damaged, or
 * unknown to this version.
 */
int lock_read_packages(const char *json, size_t length, struct lock *ret_lock, struct fault *fault);

/*
 * Arguments for an installer: "NAME=VERSION" for apt, "NAME==VERSION --hash=DIGEST" for pip.
 * NULL-terminated; owned, with its texts: lock_requests_free(). NULL: no memory.
 */
char **lock_requests(const struct lock *lock, enum lock_kind kind);
void lock_requests_free(char **requests);

/* Records the packages in the output of `apt-get --print-uris`. 0 or a negative errno. */
int lock_add_uris(struct lock *lock, const char *text, struct fault *fault);

/* Records the packages in lines "NAME==VERSION --hash=DIGEST". 0 or a negative errno. */
int lock_add_requirements(struct lock *lock, const char *text, struct fault *fault);

/* Compares the Debian packages. 0: identical; -ESTALE with the first difference. */
int lock_compare(const struct lock *wanted, const struct lock *found, struct fault *fault);

void lock_release(struct lock *lock);

#endif
