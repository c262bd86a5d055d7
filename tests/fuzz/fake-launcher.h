/*
 * In the place of interpreter/launcher.c and what it gives access to of sandbox/engine.h and
 * sandbox/session.h, for harnesses of what lies above: runs that end without having run. The first byte of the code chooses how, the rest of it
 * is what was printed.
 */
#ifndef TESTS_FUZZ_FAKE_LAUNCHER_H
#define TESTS_FUZZ_FAKE_LAUNCHER_H

#include "interpreter/launcher.h"
#include "sandbox/call_functions.h"
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
    struct session_observer observer;
    struct session_command *commands; /* owned */
    struct session_file *files;       /* owned */
    struct calls_observer calls_observer; /* empty: it has no functions */
    struct call_functions *functions;     /* owned; NULL: likewise */
    struct session_call *calls;           /* owned */
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

/* Of fake-commands.c: ends those of a session as lost, or without a word. */
void fake_commands_lose(struct session *session);
void fake_commands_forget(struct session *session);
/* Of fake-calls.c: a cell with that code and those functions begins; all calls of the session end. */
void fake_calls_begin(struct session *session, const struct snippet *snippet);
void fake_calls_end(struct session *session, bool tells);
/* Of fake-files.c, the same. */
void fake_files_lose(struct session *session);
void fake_files_forget(struct session *session);

#endif
