/*
 * Reads and writes that go on until all is done, also after signals.
 *
 * Side: parent.  Source: read(2), write(2), pread(2).
 */
#ifndef SANDBOX_BASE_IO_H
#define SANDBOX_BASE_IO_H

#include "sandbox/base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/* Writes all bytes to a file or pipe that blocks. 0 or a negative errno. */
int io_write(int fd, const void *bytes, size_t length);

/* The same from `offset` of a file. */
int io_write_at(int fd, const void *bytes, size_t length, uint64_t offset);

/* Reads `length` bytes from `offset` of a file. 0; -EIO: it is shorter; another negative errno. */
int io_read_at(int fd, void *bytes, size_t length, uint64_t offset);

/* Appends the first `length` bytes of a file. As io_read_at(); -ENOBUFS if they do not fit. */
int io_append(int fd, uint64_t length, struct buffer *bytes);

#endif
