/*
 * The names in a directory, or in two.
 *
 * Side: code-sandbox-mcp-changes.
 */
#ifndef INTERPRETER_CHANGES_NAMES_H
#define INTERPRETER_CHANGES_NAMES_H

#include <stddef.h>

/* All zero: empty. */
struct names {
    char **list; /* owned, as is each name */
    size_t count, capacity;
};

/*
 * Adds the names in a directory, without "." and "..". 0; -E2BIG: there are then `maximum` names, and
 * more in the directory; another negative errno.
 */
int names_read(struct names *names, int directory_fd, size_t maximum);

/* Sorts them by their bytes; each stays once. */
void names_sort(struct names *names);

void names_release(struct names *names);

#endif
