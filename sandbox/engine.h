/*
 * The insides of an engine and of a run, for engine.c and run.c.
 *
 * Side: parent.
 */
#ifndef SANDBOX_ENGINE_H
#define SANDBOX_ENGINE_H

#include "sandbox/jail/filter.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/plan.h"
#include "sandbox/jail/sandbox.h"
#include "sandbox/limits/limiter.h"
#include "sandbox/run.h"
#include "sandbox/warm_pool.h"

#include <stdbool.h>

/* A doubly linked list of runs; each run is in exactly one. */
struct run_list {
    struct run *first, *last;
    size_t count;
};

/* Before the first run it is not known what holds runs to their limits. */
enum engine_stage { ENGINE_UNPROBED, ENGINE_PROBING, ENGINE_PROBED };

struct engine {
    struct loop *loop;          /* borrowed */
    unsigned parallel;
    struct filter filter;
    struct id_map id_map;
    int last_capability;
    int landlock_abi;
    char *command_line; /* of this process, which init is cleared of */
    size_t command_line_size;
    struct run_list running;
    struct run_list queued;
    size_t queued_bytes;        /* of code that waits */
    bool held;                  /* no queued run may begin */
    enum cgroup_use cgroup_use;
    const char *scope_program;  /* borrowed, or NULL */
    const char *profile;        /* borrowed, or NULL */
    enum engine_stage stage;
    int64_t probed_at; /* clock_now() */
    struct cgroup_delegation home;
    struct engine_enforcement enforcement;
    void (*probed)(void *data); /* whom to tell, or NULL */
    void *probed_data;
    int status;                 /* of settling; why no run can begin is in `fault` */
    struct fault fault;
    struct warm_pool pool;
    struct loop_timer pump;     /* settles, and starts queued runs; never from a callback */
};

/* Where a run stands; each later stage is entered once. */
enum run_stage {
    STAGE_QUEUED,
    STAGE_SETTING_UP, /* spawned or taken from the pool, and fed; the program has not begun */
    STAGE_RUNNING,    /* the program has its code */
    STAGE_ENDING,     /* the program ended or was killed; the rest of the sandbox is dying */
};

struct run {
    struct engine *engine;
    struct run_list *list;
    struct run *previous, *next;
    enum run_stage stage;

    struct plan *plan; /* owned */
    char *code;        /* owned, until the program has it */
    size_t code_length;
    bool cold;         /* takes nothing from the pool: it may not, or has been let down */
    bool warm;        /* its sandbox is from there */
    bool warm_failed;     /* which ended before it was of use */
    struct run_limits limits;
    struct run_observer observer;
    void (*hold_release)(void *data); /* or NULL: as run_spec.hold */
    void *hold_data;

    struct sandbox sandbox;
    struct limiter limiter;
    struct loop_watch control, out, err, end;
    struct loop_timer deadline; /* of set-up, then of the program */
    int64_t submitted_at;       /* clock_now() */
    int64_t started_at;         /* clock_now() when it was READY */

    bool ended;                 /* `exit_status` came from init */
    int exit_status;            /* as wait4(2) gives it */
    bool disk_full;             /* and this */
    struct rusage usage;        /* and this */
    bool answered;              /* done has been called; only the end of init is awaited */
    bool stopped;               /* we killed it; result.outcome says why */
    int status;                 /* 0, or the negative errno of our failure */
    struct fault fault;
    struct run_result result;
};

void run_list_add(struct run_list *list, struct run *run);
void run_list_remove(struct run *run);

/* run.c: takes a queued run and starts it. 0 or a negative errno with run->fault. */
int run_start(struct run *run);
/* run.c: kills all of it, by every means; its end comes from the loop. */
void run_kill(struct run *run);
/* run.c: unwatches, kills, reaps, frees. */
void run_free(struct run *run);

/* engine.c: asks for queued runs to be started when the loop turns next. */
void engine_wake(struct engine *engine);

#endif
