/*
 * A run, and its list: what run.c and its helpers work on.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RUN_STATE_H
#define SANDBOX_RUN_STATE_H

#include "sandbox/jail/parcel.h"
#include "sandbox/limited_sandbox.h"
#include "sandbox/result.h"
#include "sandbox/stdin_pump.h"
#include "sandbox/warm_pool.h"

#include <stdbool.h>

/* A doubly linked list of runs; each run is in one at most. */
struct run_list {
    struct run *first, *last;
    size_t count;
};

enum attempt_stage {
    ATTEMPT_SETTING_UP, /* started and fed; the program has not started */
    ATTEMPT_RUNNING,    /* the program has its code */
    ATTEMPT_STOPPED,    /* we killed it, in either stage; result.outcome says why */
    ATTEMPT_ENDED,      /* init reported that the program and all others have ended */
    ATTEMPT_ANSWERED,   /* done has been called; waiting only for init to exit */
};

/* One attempt to run, in one sandbox. Starting over replaces the attempt. */
struct attempt {
    enum attempt_stage stage;
    enum run_start start; /* of the sandbox */
    bool was_killed; /* since it had not stopped in time */
    struct limited_sandbox limited;
    struct loop_watch control, out, err, end;
    struct stdin_pump stdin_pump;
    struct timespec fed_at; /* file_clock.after, just before the code was handed over */
    struct loop_timer deadline; /* of the set-up, of the program, or of the stop */
    int64_t started_at;         /* clock_now() of READY; 0: never */
    struct child_report report; /* of the end; all 0: none */
    struct run_result result;
    int status; /* 0, or the negative errno of our failure */
    struct fault fault;
};

#define ATTEMPT_NONE                                                                               \
    ((struct attempt){.limited = LIMITED_SANDBOX_NONE,                                             \
                      .control = {.fd = -1},                                                       \
                      .out = {.fd = -1},                                                           \
                      .err = {.fd = -1},                                                           \
                      .end = {.fd = -1},                                                           \
                      .stdin_pump = STDIN_PUMP_NONE})

struct run {
    struct run_list *list; /* of its owner */
    struct run *previous, *next;
    struct sandbox_host *host; /* borrowed */
    struct warm_pool *pool;    /* borrowed */
    struct sandbox_design design;
    struct parcel parcel; /* owned; its bytes until the program has them */
    char *stdin_bytes;    /* owned; NULL: none */
    struct run_stdin stdin_source;
    struct folder_guard guard; /* owned */
    bool is_compared; /* its folders, after its end, for its result */
    bool may_be_warm;
    size_t files_max; /* run_spec.files_max */
    struct run_observer observer;
    int64_t submitted_at; /* clock_now() */
    struct attempt attempt;
    void (*ended)(struct run *run); /* all processes are gone: the owner frees it */
    struct session *session; /* borrowed; NULL: it is none */
    /* Of a session: each report that does not end the run, after the run has taken it in. */
    void (*reported)(struct run *run, const struct child_report *report);
    /* Of a session: whether only what has exceeded a limit is being ended, and the run goes on. */
    bool (*exceeded)(struct run *run, enum run_outcome outcome);
};

#endif
