/*
 * What a compiled program depends on, as bytes: two programs with the same key are the same.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_COMPILE_KEY_H
#define INTERPRETER_COMPILE_KEY_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/run_spec.h"

#include <sys/stat.h>

/* `spec`: of the compiler; `image`: of the record of its image. 0 or a negative errno of buffer_append(). */
int compile_key_write(const struct run_spec *spec, const struct stat *image, struct buffer *key);

#endif
