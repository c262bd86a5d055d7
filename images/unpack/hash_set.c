#include "images/unpack/hash_set.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_FIRST 1024

/* FNV-1a over the inode and the name, mixed so that the low bits are usable; never 0. */
static uint64_t number_of(ino_t directory, const char *name)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)directory;
    number *= UINT64_C(0x100000001b3);
    for (; *name != '\0'; name++)
        number = (number ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    number ^= number >> 32;
    number *= UINT64_C(0x9e3779b97f4a7c15);
    number ^= number >> 29;
    return number != 0 ? number : 1;
}

/* The slot of the number, or the free slot for it. There is always a free slot. */
static size_t slot_find(const uint64_t *slots, size_t capacity, uint64_t number)
{
    size_t at = (size_t)number & (capacity - 1);
    while (slots[at] != 0 && slots[at] != number)
        at = (at + 1) & (capacity - 1);
    return at;
}

static int grow(struct hash_set *set)
{
    size_t capacity = set->capacity != 0 ? set->capacity * 2 : CAPACITY_FIRST;
    uint64_t *slots = calloc(capacity, sizeof(*slots));
    if (slots == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i] != 0)
            slots[slot_find(slots, capacity, set->slots[i])] = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return 0;
}

int hash_set_add(struct hash_set *set, ino_t directory, const char *name)
{
    if (set->count * 2 >= set->capacity && grow(set) < 0)
        return -ENOMEM;
    uint64_t number = number_of(directory, name);
    size_t at = slot_find(set->slots, set->capacity, number);
    set->count += set->slots[at] == 0;
    set->slots[at] = number;
    return 0;
}

bool hash_set_has(const struct hash_set *set, ino_t directory, const char *name)
{
    if (set->capacity == 0)
        return false;
    return set->slots[slot_find(set->slots, set->capacity, number_of(directory, name))] != 0;
}

void hash_set_clear(struct hash_set *set)
{
    free(set->slots);
    *set = (struct hash_set){0};
}
