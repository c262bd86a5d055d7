/*
 * Whether code typed line by line is a whole cell, as far as quotes, brackets and the ends of lines tell: for a prompt,
 * which asks again after each line. No language is parsed; at worst its interpreter reports a syntax error, or the
 * prompt waits for a bracket that nobody needs.
 *
 * Pure functions.
 */
#ifndef INTERPRETER_LANGUAGES_TYPED_H
#define INTERPRETER_LANGUAGES_TYPED_H

#include <stddef.h>

enum typed {
    TYPED_WHOLE,
    TYPED_BLOCK, /* an empty line makes it whole */
    TYPED_OPEN,  /* something must follow */
};

#define TYPED_DEPTH_MAX 256 /* of brackets; deeper ones are not counted */

/* The code ends with a newline. Untrusted. */
enum typed typed_python(const char *code, size_t length);
enum typed typed_javascript(const char *code, size_t length);
enum typed typed_bash(const char *code, size_t length);

#endif
