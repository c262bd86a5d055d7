/*
 * Reading small files.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_TEXT_FILE_H
#define SANDBOX_BASE_TEXT_FILE_H

#include "sandbox/base/buffer.h"

#include <stddef.h>

/*
 * Reads the file's text, NUL-terminated and truncated to `size` - 1 bytes. Path as for openat(2). 0
 * or a negative errno.
 */
int text_file_read(int directory_fd, const char *path, char *ret_text, size_t size);

/* The same for an open file, from its beginning. */
int text_file_read_open(int fd, char *ret_text, size_t size);

/* Appends the rest of the file. 0; -ENOBUFS if it does not fit; another negative errno. */
int text_file_read_all(int fd, struct buffer *text);

#endif
