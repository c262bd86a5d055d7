/*
 * Files with several names, of which some are protected: the others must be, too.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FILE_LINKS_H
#define SANDBOX_JAIL_FOLDERS_FILE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct file_link {
    uint64_t device, inode;
};

/* All zero: empty. */
struct file_links {
    struct file_link *list; /* owned */
    size_t count, capacity;
};

void file_links_release(struct file_links *links);

/* Adds the file of a protected name, perhaps again. 0 or -ENOMEM. */
int file_links_add(struct file_links *links, const struct stat *about);

/* After the last of them: whether there are any. */
bool file_links_close(struct file_links *links);

/* Then: whether the file is one of these. */
bool file_links_have(const struct file_links *links, const struct stat *about);

#endif
