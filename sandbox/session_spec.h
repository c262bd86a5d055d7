/*
 * What sessions and their cells are made of, and told to: sandbox/session.h.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_SPEC_H
#define SANDBOX_SESSION_SPEC_H

#include "sandbox/jail/run_spec.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct cell;

struct session_spec {
    struct run_spec run; /* with its member `session` */
    /* SESSION_LIVE: the program is interrupted by a frame on its channel, not by SIGINT. */
    bool interrupted_by_frame;
};

struct session_observer {
    /*
     * The session has ended by itself: called once, before done() of the cells that it had; the handle is
     * invalid from here on. As done() of struct run_observer: how its processes ended, or the failure.
     */
    void (*ended)(void *data, int status, const struct run_result *result,
                  const struct fault *fault);
    void *data;
};

/* Everything is borrowed for the call of session_submit(). */
struct cell_spec {
    const char *code;
    size_t code_length; /* <= CODE_MAX */
    const struct run_input *inputs;
    size_t input_count;
    struct run_stdin stdin_source; /* STDIN_EMPTY or STDIN_BYTES */
    int64_t wall_ms;
};

#endif
