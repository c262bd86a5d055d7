/*
 * A set of names in directories: which entries of a tree one layer has made.
 *
 * A directory is known by its inode, so that it counts as one whatever links lead to it. What is
 * kept is a number for each name; two names may share one by a chance of 1 in 2^40 or less, or
 * because an image was made so, and then a whiteout in that image spares a file of a lower layer.
 *
 * Side: confined child.
 */
#ifndef IMAGES_NAME_SET_H
#define IMAGES_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct name_set {
    uint64_t *slots; /* owned; 0 is a free one */
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* 0 or -ENOMEM. */
int name_set_add(struct name_set *set, ino_t directory, const char *name);
bool name_set_has(const struct name_set *set, ino_t directory, const char *name);
void name_set_clear(struct name_set *set); /* frees; may be used again */

#endif
