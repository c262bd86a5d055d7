/*
 * A set of names in directories: which entries of a tree one layer has made.
 *
 * A directory is known by its inode, so that links to it make no difference. What is
 * kept is a number for each name; two names may share one by a chance of 1 in 2^40 or less, or
 * because an image was made so, and then a whiteout in that image spares a file of a lower layer.
 *
 * Side: jailed child.
 */
#ifndef IMAGES_UNPACK_HASH_SET_H
#define IMAGES_UNPACK_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hash_set {
    uint64_t *slots; /* owned; 0 is a free one */
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* 0 or -ENOMEM. */
int hash_set_add(struct hash_set *set, ino_t directory, const char *name);
bool hash_set_has(const struct hash_set *set, ino_t directory, const char *name);
void hash_set_clear(struct hash_set *set); /* frees; may be used again */

#endif
