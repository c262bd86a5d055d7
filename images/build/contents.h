/*
 * The list of a layer's files, written when the layer is made, to detect later changes.
 *
 *     STORE/layers/ID/contents       a line for each entry of the tree, sorted by path:
 *     TYPE MODE SIZE MTIME VALUE PATH
 *
 * TYPE is f (file), d (directory), l (symbolic link) or w (whiteout); MODE octal; SIZE and MTIME
 * (in seconds) of a file, else 0; VALUE the SHA-256 of a file, the target of a link, "opaque" for
 * an opaque directory, else "-". In VALUE and PATH, blanks, '%' and all bytes other than printable
 * ASCII are written as %XX.
 *
 * Side: parent; threads of its own hash the files and are gone when a call returns.
 */
#ifndef IMAGES_BUILD_CONTENTS_H
#define IMAGES_BUILD_CONTENTS_H

#include "sandbox/base/fault.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONTENTS_FILE "contents"
#define CONTENTS_MAX (256 << 20) /* bytes */

struct contents_entry {
    char *path;  /* from the top of the tree, as in the list: with %XX */
    char *value; /* as in the list */
    char type;
    unsigned mode;
    uint64_t size;
    int64_t mtime;
    uint64_t inode; /* of a file with several names, while it is hashed; else 0 */
};

/* Empty is {0}; contents_release() frees. */
struct contents {
    struct contents_entry *entries; /* owned, sorted by path */
    size_t count, capacity;
    size_t text_bytes; /* of paths and values, while they are taken */
};

void contents_release(struct contents *contents);

/* Walks the tree and hashes all its files. 0; -EINTR, if a signal asks us to stop (interrupt.h); or another negative errno. */
int contents_take(int tree_fd, struct contents *ret_contents, struct fault *fault);

/* Takes the contents of the layer's tree and writes its list. 0 or a negative errno. */
int contents_write(int layer_fd, struct fault *fault);

/* Reads the list of the layer. 0; -ENOENT without a fault: it has none; -EINVAL: it is damaged. */
int contents_read(int layer_fd, struct contents *ret_contents, struct fault *fault);

/* The lines of a list. As contents_read(). */
int contents_parse(char *text, struct contents *ret_contents, struct fault *fault);

/* A difference between an entry and its record. */
struct difference {
    const char *path; /* as in the list; borrowed */
    const char *what; /* "added", "missing" or "changed" */
    const char *how; /* of a changed one: "content, mode"; else "" */
};

/* Reports each difference, in the order of paths; returns their number. */
size_t contents_compare(const struct contents *made, const struct contents *found,
                        void (*tell)(void *data, const struct difference *difference), void *data);

#endif
