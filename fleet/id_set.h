/*
 * The ids whose results are there already: what --resume reads from a file of results.
 *
 * Side: parent.
 */
#ifndef FLEET_ID_SET_H
#define FLEET_ID_SET_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDS_BYTES_MAX (UINT64_C(1) << 32) /* of all ids */

/* All zero: empty. */
struct id_set {
    struct buffer texts; /* each behind its length */
    uint64_t *places;    /* owned: a hash table of offsets into the texts, plus one; 0: free */
    size_t capacity;     /* of the table: a power of two */
    size_t count;
};

void id_set_release(struct id_set *set);

/* 0 or a negative errno. */
int id_set_add(struct id_set *set, const char *text, size_t length);
bool id_set_has(const struct id_set *set, const char *text, size_t length);

/* What a file of results has. */
struct id_file {
    uint64_t complete; /* bytes up to the last newline */
    uint64_t torn;     /* bytes after it: of a line whose writer was killed */
    uint64_t foreign;  /* lines that are no results */
};

/* Adds the ids of the calls that ran. 0, or a negative errno with its fault, which names the file. */
int id_set_read(struct id_set *set, const char *path, struct id_file *ret_file,
                struct fault *fault);

#endif
