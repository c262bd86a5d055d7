/*
 * Which names input files may have, told from the manual and not from sandbox/run_inputs.c: for the
 * harnesses of requests that bring files.
 */
#ifndef TESTS_FUZZ_INPUT_CHECK_H
#define TESTS_FUZZ_INPUT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it may be the name of an input file beside this program; `name` may hold NUL. */
bool input_check_name(const char *name, size_t length, const char *program);

/* Whether two names are the same, or one is a directory of the other. */
bool input_check_collide(const char *one, const char *other);

#endif
