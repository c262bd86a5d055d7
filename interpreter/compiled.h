/*
 * A compiled program: the files that a compiler left, and what it printed.
 *
 * Constant, and shared by its users. As bytes it can be kept in a file.
 * Side: parent.  Names and bytes come from a snippet: untrusted.
 */
#ifndef INTERPRETER_COMPILED_H
#define INTERPRETER_COMPILED_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"
#include "sandbox/jail/run_spec.h"
#include "sandbox/result.h"

#include <stddef.h>

struct compiled {
    size_t users;
    struct buffer bytes; /* owned: everything else points into it */
    struct run_input *files; /* owned */
    size_t file_count;
    struct run_compile report; /* owned */
};

/*
 * From the result of a compiler that has succeeded; its files are read. 0 and a program with one user; -E2BIG: there are too
 * many files, or too large ones; or another negative errno, each with its fault.
 */
int compiled_make(const struct run_result *result, struct compiled **ret_compiled,
                  struct fault *fault);

/* From the bytes of one, which it takes over. -EBADMSG: they are none. */
int compiled_read(struct buffer *bytes, struct compiled **ret_compiled);

struct compiled *compiled_use(struct compiled *compiled);

/* Ends one use. NULL is fine. */
void compiled_drop(struct compiled *compiled);

#endif
