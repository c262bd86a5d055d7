/*
 * Sandboxes made ahead: jailed, their program started and waiting where it would read its code
 * (sandbox/jail/child/code.h). Each is used for one run at most and then gone as any other.
 *
 * Which kinds are kept is learnt from the runs: after the first of a kind, sandboxes of it are made as
 * long as nobody waits for a run. They are given up when the kind has not been asked for, or memory is
 * short. What is wrong with one made ahead nobody hears of: the run then makes its own.
 *
 * Side: parent.
 */
#ifndef SANDBOX_WARM_POOL_H
#define SANDBOX_WARM_POOL_H

#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct engine;
struct warm_kind;
struct run;

struct warm_pool {
    struct engine *engine;   /* borrowed */
    unsigned size;           /* sandboxes of each kind; 0: the pool is never used */
    struct warm_kind *kinds; /* owned */
    struct loop_timer fill;  /* makes one more */
    struct loop_timer look;  /* whether kinds are still wanted, and memory not short */
};

/* `size` is at most WARM_SANDBOXES_MAX. */
void warm_pool_open(struct warm_pool *pool, struct engine *engine, unsigned size);

/*
 * Gives the run a sandbox and the limiter that goes with it, if one of its kind waits. The run is where
 * run_start() wants it: its limits are lowered to what this machine has, its filter is set.
 */
bool warm_pool_take(struct warm_pool *pool, struct run *run);

/* A run that has begun has ended: its kind is wanted. Takes its plan and what the plan holds. */
void warm_pool_learn(struct warm_pool *pool, struct run *run);

/* To be called when a place for a run is free and nobody is waiting for it: makes more, soon. */
void warm_pool_wake(struct warm_pool *pool);

/* How many wait, or are on the way to where they will. */
size_t warm_pool_count(const struct warm_pool *pool);

/* Kills all that wait. What was learnt stays, unless it is an end for good. */
void warm_pool_drain(struct warm_pool *pool);
void warm_pool_close(struct warm_pool *pool);

#endif
