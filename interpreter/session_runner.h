/*
 * How each language has sessions: the program that runs their cells, and what they keep.
 *
 * Side: parent.  Source: images/runners.
 */
#ifndef INTERPRETER_SESSION_RUNNER_H
#define INTERPRETER_SESSION_RUNNER_H

#include "images/store/catalog.h"
#include "sandbox/session.h"

#include <stdbool.h>
#include <stddef.h>

struct session_runner {
    const char *prefix; /* of handles: "py" */
    const char *kept;   /* "variables and files" */
    enum session_kind kind;
    bool interrupted_by_frame;
    const char *const *argv; /* that starts it, NULL-terminated; NULL: as the language's */
    const char *program; /* not NUL-terminated; empty: the cell itself is the program */
    size_t length;
};

/* NULL: the language has no sessions. */
const struct session_runner *session_runner_of(const struct language *language);

#endif
