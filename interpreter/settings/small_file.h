/*
 * Files that the operator names: read whole, with a bound, and never waited for.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_SMALL_FILE_H
#define INTERPRETER_SETTINGS_SMALL_FILE_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

/*
 * Appends the file to `text`, whose maximum must be twice `maximum` or more. `what` is how a fault
 * calls it: "the configuration". 0; -ENOENT without a fault where there is none; another negative
 * errno with one, also for what is no regular file or longer than `maximum` bytes.
 */
int small_file_read(const char *path, const char *what, size_t maximum, struct buffer *text,
                    struct fault *fault);

/*
 * The same for a file of secrets. -EPERM with a fault unless it belongs to this user or root and nobody
 * else may read, write or execute it.
 */
int small_file_read_private(const char *path, const char *what, size_t maximum, struct buffer *text,
                            struct fault *fault);

#endif
