/*
 * A set of directory entries: those made by one layer.
 *
 * A directory is identified by its inode, so links to it make no difference. Only a hash of each
 * name is stored. Two names collide with a probability of at most 2^-40, or if an image was crafted
 * for it; then a whiteout in that image spares a file of a lower layer.
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
