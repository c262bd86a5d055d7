/*
 * Reading directories by descriptor.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_DIRECTORY_H
#define SANDBOX_BASE_DIRECTORY_H

#include <dirent.h>

/* The entries of a directory below another; AT_FDCWD as openat(2). NULL with errno. */
DIR *directory_open(int parent_fd, const char *path);

/* One that is no link, whatever it was when it was last looked at. NULL with errno: ENOTDIR. */
DIR *directory_open_itself(int parent_fd, const char *path);

/* The next entry that is neither "." nor ".."; NULL at the end, or when `directory` is NULL. */
struct dirent *directory_next(DIR *directory);

/* The next name that is a decimal number, likewise. */
const char *directory_next_number(DIR *directory);

/* Closes it, if there is one; for OWNED(). */
void directory_release(DIR **directory);

#endif
