/*
 * A cell of a session while it waits and runs: a copy of what it was submitted with.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CELL_H
#define SANDBOX_CELL_H

#include "sandbox/jail/parcel.h"
#include "sandbox/session_spec.h"

struct cell {
    struct session *session;
    unsigned lane;
    uint32_t back_to; /* cell_spec.back_to */
    struct cell *next;
    struct parcel parcel; /* owned: code and input files */
    char *stdin_bytes;    /* owned; NULL: none */
    size_t stdin_length;
    struct call_functions *functions; /* owned; NULL: those of its session */
    int64_t wall_ms;
    bool is_look; /* without code: only folders are looked at */
    struct run_observer observer; /* empty: cancelled */
    int64_t submitted_at;         /* clock_now() */
    size_t
        *sum; /* borrowed: bytes of all cells in queues, this one's included; NULL: it is in none */
};

/*
 * `code_name`: of the program of its lane. For a further lane, of programs anew, the parcel has the code as a file. 0;
 * -EINVAL, -E2BIG, -ENOMEM, with a fault.
 */
int cell_new(const struct cell_spec *spec, const char *code_name, bool code_is_file,
             struct cell **ret_cell, struct fault *fault);
void cell_free(struct cell *cell);

/* To the end of a queue, which owns it then. *sum: of all queues; borrowed until it is freed. */
void cell_append(struct cell **queue, struct cell *cell, size_t *sum);
/* Frees the first cell of a queue that has one, and returns its observer. */
struct run_observer cell_take(struct cell **queue);
/* Tells the observers of all that are left that their session has ended. */
void cell_refuse_all(struct cell **queue);

/*
 * Whether there is room for it behind the cells of a session, with so many bytes in all queues; if not, with a
 * fault for -EAGAIN.
 */
bool cell_fits(const struct cell *queue, const struct cell *cell, size_t sum, struct fault *fault);

#endif
