/*
 * Reading and renaming by descriptors of directories.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_DIRECTORY_H
#define SANDBOX_BASE_DIRECTORY_H

#include <dirent.h>

/* Opens a directory; `parent_fd` and path as for openat(2). NULL with errno. */
DIR *directory_open(int parent_fd, const char *path);

/* The same, but refuses a symbolic link, even one that has just replaced the directory: ENOTDIR. */
DIR *directory_open_itself(int parent_fd, const char *path);

/* The next entry apart from "." and ".."; NULL at the end, or if `directory` is NULL. */
struct dirent *directory_next(DIR *directory);

/* The next name that is a decimal number, likewise. */
const char *directory_next_number(DIR *directory);

/*
 * Opens a directory, no symbolic link, and locks it for this descriptor, which the caller owns.
 * -EWOULDBLOCK: another has locked it; -ENOENT: it is not there, or has been removed or replaced meanwhile;
 * or another negative errno. Source: flock(2).
 */
int directory_open_locked(int parent_fd, const char *name);

/*
 * Renames, unless the new name is there already. 0, or -1 with errno. renameat2(2), which not every C
 * library has.
 */
int directory_move(int from_fd, const char *from, int to_fd, const char *to);

/* Exchanges two names of one directory, likewise. */
int directory_exchange(int parent_fd, const char *one, const char *other);

/* Closes the directory, unless it is NULL; for OWNED(). */
void directory_release(DIR **directory);

#endif
