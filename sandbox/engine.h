/*
 * Engines and their runs: a snippet goes in, its output and its exact end come out.
 *
 * An engine holds what all its runs share (compiled filter, id map, queue). Everything happens on
 * the caller's loop; no call blocks longer than a clone3 does. Up to engine_options.parallel runs
 * proceed at once; further ones wait in a bounded queue, first in, first out.
 *
 * Side: parent.
 */
#ifndef SANDBOX_ENGINE_H
#define SANDBOX_ENGINE_H

#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"
#include "sandbox/jail/run_spec.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct run;

enum cgroup_use {
    CGROUP_IF_POSSIBLE,
    CGROUP_REQUIRED, /* without one, runs fail */
    CGROUP_NEVER,
};

struct engine_options {
    uint64_t parallel; /* runs at once; 0: the number of processors this process may use */
    enum cgroup_use cgroup;
    /* The program that asks systemd for a scope (sandbox/scope/main.c), borrowed; NULL: none. */
    const char *scope_program;
    /*
     * Prewarmed sandboxes for each kind of run (image, program, environment, limits) seen so far:
     * up to WARM_SANDBOXES_MAX; 0: none.
     */
    uint64_t warm;
    /* A seccomp profile as JSON text (sandbox/jail/filter.h), borrowed; NULL: the built-in one. */
    const char *profile;
};

/* The engine keeps `loop`. 0, or a negative errno with its fault. */
int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret_engine,
               struct fault *fault);

/* Kills and reaps every run, without calling done. NULL is fine. */
void engine_free(struct engine *engine);

/*
 * Starts a run or queues it. 0 and a handle that is valid until done has been called (borrowed from
 * the engine); -EAGAIN when the queue is full; -E2BIG; another negative errno: could not start.
 */
int engine_submit(struct engine *engine, const struct run_spec *spec,
                  const struct run_observer *observer, struct run **ret_run, struct fault *fault);

/*
 * Ends the run, queued or running: done and output are not called any more, and the handle is gone.
 * All of it is killed; its place becomes free once the loop has seen its end, which takes a while
 * if there is much memory to free.
 */
void engine_cancel(struct run *run);

/*
 * For an observer that blocks the loop, because its reader is slow: ends the run if its time is up
 * or it is past a polled limit. To be called every few milliseconds; the only call that is allowed
 * from inside output().
 */
void engine_check_limits(struct run *run);

/* Whether it still waits for its turn. */
bool engine_is_queued(const struct run *run);

/* While held, no queued run starts. */
void engine_hold(struct engine *engine, bool hold);

/*
 * Finds out how limits can be enforced here, which otherwise the first run does: it may take a
 * second if systemd has to be asked. Calls `probed` once, from the loop; engine_enforcement() has
 * the answer from then on.
 */
void engine_probe(struct engine *engine, void (*probed)(void *data), void *data);

/* NULL before it is known. Borrowed from the engine. */
const struct engine_enforcement *engine_enforcement(const struct engine *engine);

/* The version of Landlock that jails use; 0: none (landlock(7)). */
int engine_landlock(const struct engine *engine);

/* Runs that have started and not ended; runs that wait. */
size_t engine_running(const struct engine *engine);
size_t engine_queued(const struct engine *engine);

#endif
