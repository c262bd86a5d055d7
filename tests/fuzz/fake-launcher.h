/*
 * In the place of interpreter/launcher.c and what it gives access to of sandbox/engine.h and
 * sandbox/session.h, for harnesses of what lies above: runs that end without having run. The first byte of the code chooses how, the rest of it
 * is what was printed.
 */
#ifndef TESTS_FUZZ_FAKE_LAUNCHER_H
#define TESTS_FUZZ_FAKE_LAUNCHER_H

#include "interpreter/launcher.h"
#include "sandbox/jail/parcel.h"

#define FAKE_REFUSED 'r' /* launcher_start() fails */
#define FAKE_FAILED 'f'  /* done() is told of a failure */

/* The runs of a launcher, the newest first; launcher->engine points to them. */
struct engine {
    struct run *first;
    struct session *sessions; /* owned; cells are runs */
};

struct session {
    struct session *next;
    struct launcher *launcher;
};

struct run {
    struct run *next;
    struct launcher *launcher;
    struct session *session; /* NULL: it is no cell */
    struct run_observer observer;
    struct loop_timer end; /* armed where the launcher has a loop */
    char *code;            /* owned */
    size_t length;
    int64_t wall_ms;
    struct parcel parcel; /* owned: the code again, and the input files */
    bool has_stdin;
    char *stdin_bytes; /* owned */
    size_t stdin_length;
};

/* Ends every run, the newest first: for a launcher that has no loop. */
void fake_launcher_end_runs(struct launcher *launcher);

#endif
