/*
 * Sandboxes made ahead: jailed, their program started and waiting where it would read its code
 * (sandbox/child/code.h). Each is used for one run at most and then gone as any other.
 *
 * Which kinds are kept is learnt from the runs: after the first of a kind, sandboxes of it are made as
 * long as nobody waits for a run. They are given up when the kind has not been asked for, or memory is
 * short. What is wrong with one made ahead nobody hears of: the run then makes its own.
 *
 * Side: parent.
 */
#ifndef SANDBOX_POOL_H
#define SANDBOX_POOL_H

#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct engine;
struct pool_kind;
struct run;

struct pool {
    struct engine *engine;   /* borrowed */
    unsigned size;           /* sandboxes of each kind; 0: the pool is never used */
    struct pool_kind *kinds; /* owned */
    struct loop_timer fill;  /* makes one more */
    struct loop_timer look;  /* whether kinds are still wanted, and memory not short */
};

/* `size` is at most SANDBOXES_AHEAD_MAX. */
void pool_open(struct pool *pool, struct engine *engine, unsigned size);

/*
 * Gives the run a sandbox and the guard that goes with it, if one of its kind waits. The run is where
 * run_start() wants it: its limits are lowered to what this machine has, its filter is set.
 */
bool pool_take(struct pool *pool, struct run *run);

/* A run that has begun has ended: its kind is wanted. Takes its plan and what the plan holds. */
void pool_learn(struct pool *pool, struct run *run);

/* To be called when a place for a run is free and nobody is waiting for it: makes more, soon. */
void pool_wake(struct pool *pool);

/* How many wait, or are on the way to where they will. */
size_t pool_count(const struct pool *pool);

/* Kills all that wait. What was learnt stays, unless it is an end for good. */
void pool_drain(struct pool *pool);
void pool_close(struct pool *pool);

#endif
