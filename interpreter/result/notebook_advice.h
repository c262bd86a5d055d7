/*
 * Advice to models that write for a notebook, or TypeScript, in a call without a session: what a cell of a session
 * understands, and a program does not. Read off the end of stderr.
 *
 * Side: parent.  The text comes from the snippet and is not trusted: no byte of it is repeated.
 */
#ifndef INTERPRETER_RESULT_NOTEBOOK_ADVICE_H
#define INTERPRETER_RESULT_NOTEBOOK_ADVICE_H

#include "images/store/catalog.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>

struct notebook_advice {
    const char *text; /* a sentence, static; NULL: there is none */
    bool holds_in_session; /* else it is about what works there */
};

/* `text` is the end of what the program wrote to stderr. */
struct notebook_advice notebook_advice_find(enum language_id language, const char *text,
                                            size_t length, const struct run_result *result);

#endif
