/*
 * Prewarmed sandboxes: jailed, with the program started and blocked where it opens its code
 * (sandbox/jail/child/code.h) or, for a session, where it waits for its first cell. Each serves at most one run and is then destroyed like any other.
 *
 * Runs decide which kinds are kept: after the first run of a kind, the pool prewarms sandboxes of
 * it while the engine is idle. It drops a kind unused for long, and drains when memory is short.
 *
 * No run fails with a prewarmed sandbox: it starts a sandbox of its own. The host is told of the first failure. The
 * pool tries again after a while, longer after each further failure or lack of memory, and at once when a run of the kind
 * has completed; but not where a program was past a limit: then only such a run lets it go on.
 *
 * Side: parent.
 */
#ifndef SANDBOX_WARM_POOL_H
#define SANDBOX_WARM_POOL_H

#include "sandbox/interpreter_template.h"
#include "sandbox/limited_sandbox.h"

#include <stdbool.h>
#include <stddef.h>

struct warm_kind;

struct warm_pool {
    struct sandbox_host *host; /* borrowed; NULL: not open */
    unsigned size;             /* sandboxes of each kind; 0: the pool is never used */
    struct warm_kind *kinds;   /* owned */
    struct loop_timer fill;    /* adds one sandbox */
    struct loop_timer sweep;   /* drops unused kinds, and everything when memory is short */
    bool (*may_fill)(const struct warm_pool *pool);
    char template_failure
        [TEMPLATE_FAILURE_SIZE]; /* template_failure() of the last that never became ready */
};

/* `size` is at most WARM_SANDBOXES_MAX. `may_fill` says whether the owner is idle. */
void warm_pool_open(struct warm_pool *pool, struct sandbox_host *host, unsigned size,
                    bool (*may_fill)(const struct warm_pool *pool));

/*
 * Takes a prewarmed sandbox for a run of this template, whose limits are already reduced to what
 * this machine has. False: there is none.
 */
bool warm_pool_take(struct warm_pool *pool, const struct sandbox_design *design,
                    struct limited_sandbox *ret_limited);

/*
 * A run has completed: more of its kind may follow. Takes ownership of the template if the kind is
 * new.
 */
void warm_pool_learn(struct warm_pool *pool, struct sandbox_design *design);

/* True if the kind is known or the pool is disabled. */
bool warm_pool_knows(struct warm_pool *pool, const struct sandbox_design *design);

/* Starts filling the pool soon. Call it when the engine becomes idle. */
void warm_pool_wake(struct warm_pool *pool);

/* Ready or being set up. */
size_t warm_pool_count(const struct warm_pool *pool);

/* Kills all prewarmed sandboxes, and templates when no run has a fork of theirs; closing also forgets the kinds. */
void warm_pool_drain(struct warm_pool *pool);
void warm_pool_close(struct warm_pool *pool);

#endif
