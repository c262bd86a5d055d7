/*
 * Compares the upper layer of an overlay with the folder below it.
 *
 * A whiteout removes the folder's entry, an opaque directory hides all of it; everything else in the
 * upper layer is new, or a copy that the snippet may have changed. The order is that of names.
 *
 * Side: code-sandbox-mcp-changes.  Source: the kernel's overlayfs.rst.
 */
#ifndef INTERPRETER_CHANGES_WALK_H
#define INTERPRETER_CHANGES_WALK_H

#include "interpreter/changes/change_list.h"

#include <time.h>

struct walk_spec {
    int upper_fd; /* borrowed: the root of the upper layer; no writer is left */
    int host_fd;  /* borrowed: the folder; O_PATH is enough */
    struct timespec
        since; /* file_clock.after, when the snippet began; changes from then on are others' */
};

/* Adds the changes. Whatever cannot be read is in the list of what is left out. */
void walk_changes(const struct walk_spec *spec, struct change_list *changes);

#endif
