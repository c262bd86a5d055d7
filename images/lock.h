/*
 * lock.json, beside the record of an image that came in pieces with digests: just what was fetched.
 *
 *     {"source":"docker.io/library/python:3.13","fetched":[
 *       {"kind":"manifest","url":"https://...","digest":"sha256:...","size":1}, ...]}
 *
 * Side: parent.
 */
#ifndef IMAGES_LOCK_H
#define IMAGES_LOCK_H

#include "images/registry/manifest.h"
#include "images/registry/reference.h"
#include "sandbox/base/fault.h"

#include <stddef.h>

#define LOCK_FILE "lock.json"
#define LOCK_MAX (4 << 20) /* bytes */

enum lock_kind {
    LOCK_MANIFEST, /* or an index */
    LOCK_CONFIGURATION,
    LOCK_LAYER,
};

struct lock_entry {
    enum lock_kind kind;
    char *url; /* or NULL: from a file */
    struct descriptor descriptor;
};

/* Empty is {0}; owned: lock_release() frees. */
struct lock {
    struct lock_entry *entries;
    size_t count;
};

/* Notes one piece; `url` is copied. 0 or -ENOMEM. */
int lock_add(struct lock *lock, enum lock_kind kind, const char *url,
             const struct descriptor *descriptor, struct fault *fault);

/* Writes the file into the directory, unless nothing was noted. 0 or a negative errno. */
int lock_write(int directory_fd, const struct lock *lock, const char *source, struct fault *fault);

/*
 * Reads one: the reference of the image with the digest that its tag led to, from which all the rest
 * follows. 0; -EINVAL for what is no lock of an image in a registry.
 */
int lock_read(const char *json, size_t length, struct reference *ret_reference,
              struct fault *fault);

void lock_release(struct lock *lock);

#endif
