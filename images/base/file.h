/*
 * Reads and writes small files as a whole. Paths are relative to the working directory unless
 * stated otherwise.
 *
 * Side: both; in jailed children the working directory is the root file system.
 */
#ifndef IMAGES_BASE_FILE_H
#define IMAGES_BASE_FILE_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#define FILE_TEXT_MAX (16 << 20)

/* Appends the file to the text. 0; -ENOENT without a fault when it is absent; negative errno. */
int file_read(const char *path, struct buffer *text, struct fault *fault);

/* Likewise; the working directory is the root for links on the way, whether it is that of the process or not (tier L). */
int file_read_in_tree(const char *path, struct buffer *text, struct fault *fault);

/* Creates a file of mode 0644, which must not exist; path as for openat(2). 0 or negative errno. */
int file_create(int directory_fd, const char *path, const char *bytes, size_t length,
                struct fault *fault);

/* Replaces a file, or a link, by a new file of mode 0644. 0 or negative errno. */
int file_write(const char *path, const char *bytes, size_t length, struct fault *fault);

/* Replaces anything but a directory by a symbolic link. 0 or negative errno. */
int file_write_link(const char *path, const char *target, struct fault *fault);

/* Makes a directory and its parents, unless they exist. 0 or negative errno. */
int file_make_directory(const char *path, mode_t mode, struct fault *fault);

bool file_exists(const char *path); /* a dangling link does not */

/* The names in a directory with a given suffix, sorted; an absent directory has none. */
struct file_list {
    struct dirent **entries; /* owned */
    int count;
};
void file_list_release(struct file_list *list);
void file_list_read(const char *path, const char *ending, struct file_list *ret_list);

#endif
