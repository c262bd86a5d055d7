/*
 * What init reads to start a program of a session beside its first: sandbox/jail/child/further_program.h.
 *
 * Side: parent.
 */
#ifndef SANDBOX_PROGRAM_TEXT_H
#define SANDBOX_PROGRAM_TEXT_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

/* All borrowed; the lists end with NULL. */
struct text_spec {
    const char *directory; /* where it starts; NULL: the work directory */
    const char
        *path; /* where argv[0] without a slash is searched for; NULL: in PATH of its variables */
    const char *const *argv;
    const char *const *environment; /* NAME=VALUE, of which the last of a name counts; or NULL */
    bool has_no_others; /* variables; else it has those of the session, too */
};

/* Sealed memory, owned by the caller. 0; -E2BIG, -ENOMEM or another negative errno with its fault. */
int program_text_make(const struct text_spec *spec, int *ret_fd, struct fault *fault);

#endif
