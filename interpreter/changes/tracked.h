/*
 * The files that git tracks in the folder: their changes are wanted, whatever .gitignore says.
 *
 * Side: code-sandbox-mcp-changes.  Source: gitformat-index(5), versions 2 and 3.
 */
#ifndef INTERPRETER_CHANGES_TRACKED_H
#define INTERPRETER_CHANGES_TRACKED_H

#include <stdbool.h>
#include <stddef.h>

struct tracked {
    bool is_known;      /* there was an index, and it was read */
    char *bytes;        /* owned: the index */
    const char **
        paths; /* owned; in the order of git, which is that of bytes; each ends with a NUL in `bytes` */
    size_t count;
};

/* Takes over the bytes of an index; one that is not understood leaves is_known false. 0 or -ENOMEM. */
int tracked_read(struct tracked *tracked, char *bytes, size_t size);

/* The same for the index of the folder, if it is the top of a repository. */
void tracked_read_index(struct tracked *tracked, int folder_fd);

void tracked_release(struct tracked *tracked);

bool tracked_has(const struct tracked *tracked, const char *path);

#endif
