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
#include "sandbox/base/fault.h"

#include <stddef.h>

#define LOCK_FILE "lock.json"

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

void lock_release(struct lock *lock);

#endif
