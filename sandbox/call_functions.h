/*
 * The functions that a snippet may call: their names, and what its interpreter is told of them.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CALL_FUNCTIONS_H
#define SANDBOX_CALL_FUNCTIONS_H

#include "sandbox/base/buffer.h"
#include "sandbox/limits/limits.h"

#include <stdbool.h>
#include <stddef.h>

struct call_functions {
    size_t count; /* 0..CALL_FUNCTIONS_MAX */
    char (*names)[CALL_NAME_MAX + 1]; /* owned; room for `count` */
    struct buffer json; /* owned: an array of objects, at most CALL_FUNCTIONS_BYTES_MAX */
};

/* With room for so many names, and none yet. NULL: no memory. */
struct call_functions *call_functions_new(size_t room);

/* NULL: no memory. */
struct call_functions *call_functions_copy(const struct call_functions *functions);

/* NULL is fine. */
void call_functions_free(struct call_functions *functions);

/* Whether one has exactly this name. */
bool call_functions_have(const struct call_functions *functions, const char *name);

#endif
