/*
 * Removes and measures directory trees.
 *
 * Neither follows a symbolic link or leaves the tree; a tree that is deeper than the limit on open
 * files is refused with EMFILE. Side: parent, and the jailed children of a fetch.
 */
#ifndef SANDBOX_BASE_TREE_H
#define SANDBOX_BASE_TREE_H

#include <stdint.h>

#define TREE_DEPTH_MAX 64 /* directories in each other, in the tree of an image */

/*
 * Removes the entry `name`, of any type, and everything below it. Directories without access
 * (overlayfs leaves one of mode 000) are made accessible first. 0, also if absent; or a negative
 * errno after removing all that could be removed.
 */
int tree_remove(int directory_fd, const char *name);

struct tree_size {
    uint64_t bytes; /* allocated on disk; a hard link counts by its share */
    uint64_t files; /* entries of any type, without the top */
};

/* Measures the tree below `name` in the directory. 0 or a negative errno. */
int tree_measure(int directory_fd, const char *name, struct tree_size *ret_size);

#endif
