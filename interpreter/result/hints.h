/*
 * Advice on mistakes that models make here, read off the end of a failed program's stderr: using a name of
 * an earlier call, importing what is not installed, and what else enum hint_kind has.
 *
 * Only models get it. A person at `run` has written one whole program and knows the machine.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_HINTS_H
#define INTERPRETER_RESULT_HINTS_H

#include "interpreter/languages/language.h"
#include "sandbox/base/buffer.h"

#include <stdbool.h>

/* What the result of a run of the language calls for. */
struct hint hint_find(const struct language *language, const struct run_result *result);

/* What the hint needs to know of the image that the program ran on. */
struct hint_image {
    const char *name; /* NULL: it cannot be added to */
    const char *summary; /* what is installed; NULL or "": not known */
    bool has_sessions; /* calls can share names */
    bool has_network;
};

/* Appends the hint, a line or two with their newlines. 0 or a negative errno of buffer_append(). */
int hint_write(const struct hint *hint, const struct hint_image *image, struct buffer *text);

/*
 * Appends "Installed: ...", from the summary of an image, with at most LIBRARIES_SHOWN_MAX bytes of
 * it. 0 or a negative errno of buffer_append().
 */
int hint_write_installed(const char *summary, struct buffer *text);

#endif
