/*
 * Compiled programs that are kept: a file each, in settings_compile_cache().
 *
 * A file has the whole key of its program (compile_key.h) and is compared with it, so that no program can be made that is
 * taken for another one. Those used least recently go first. Servers may share the directory. What does not work is done
 * without: a program is then compiled again.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_COMPILE_CACHE_H
#define INTERPRETER_COMPILE_CACHE_H

#include "interpreter/compiled.h"

#include <stdint.h>

/* The program of the key, with one user; NULL: it is not kept. */
struct compiled *compile_cache_find(const struct buffer *key);

/* Keeps the program, and of others as much as fits beside it into `most` bytes. */
void compile_cache_add(const struct buffer *key, const struct compiled *compiled, uint64_t most);

#endif
