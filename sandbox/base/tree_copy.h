/*
 * Copies of trees of files: regular files, directories and symbolic links, with the time of their last change. Anything else
 * is left out, hard links become files of their own, and no path is followed through a link.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_TREE_COPY_H
#define SANDBOX_BASE_TREE_COPY_H

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_copy {
    mode_t mode_mask;    /* the bits of modes that copies have, too */
    uid_t owner;         /* and group, of the copies; (uid_t)-1: the caller's */
    uint64_t bytes_left; /* that are copied, without holes; counted down */
    int (*may_go_on)(void); /* NULL, or asked before each file: a negative errno ends the copy */
};

/*
 * Copies what is in `from` into the directory `to`. 0; -EFBIG: more bytes than are left, or directories more than
 * TREE_DEPTH_MAX deep; -EEXIST; or another negative errno. What was copied until then remains.
 */
int tree_copy_entries(struct tree_copy *copy, DIR *from, int to);

/* Copies an open file or directory with all that is in it to the new name `name`. As above; -EINVAL if it is neither. */
int tree_copy_open(struct tree_copy *copy, int source, int to, const char *name);

#endif
