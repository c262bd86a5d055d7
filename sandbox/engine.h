/*
 * Engines and their runs: from a snippet to its output and its outcome.
 *
 * An engine holds what all its runs share (compiled filter, id map, queue). Everything happens on
 * the caller's loop; no call blocks longer than a clone3. Up to engine_options.parallel runs
 * proceed at once; further ones wait in a bounded queue, first in, first out.
 *
 * Side: parent.
 */
#ifndef SANDBOX_ENGINE_H
#define SANDBOX_ENGINE_H

#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/tier.h"
#include "sandbox/jail/folders/folder_guard.h"
#include "sandbox/jail/run_spec.h"
#include "sandbox/network/policy.h"
#include "sandbox/result.h"
#include "sandbox/session_spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct run;

enum cgroup_use {
    CGROUP_IF_POSSIBLE,
    CGROUP_REQUIRED, /* runs fail without a cgroup */
    CGROUP_NEVER,
};

struct engine_options {
    uint64_t parallel; /* runs at once; 0: inherited_processors() */
    enum cgroup_use cgroup;
    /*
     * The path of the program that requests a scope from systemd (sandbox/scope/scope_main.c), borrowed;
     * NULL: none.
     */
    const char *scope_program;
    /*
     * Prewarmed sandboxes for each kind of run (image, program, environment, limits) seen so far:
     * up to WARM_SANDBOXES_MAX; 0: none.
     */
    uint64_t warm;
    /* Whether prewarmed sandboxes are forks of one interpreter, where they can be: run_spec.template, and no
     * profile. */
    bool templates;
    /*
     * What runs may reach over the network, and the path of the broker (sandbox/network/broker/broker_main.c),
     * both borrowed. NULL: no run has a network.
     */
    const struct policy *network_policy;
    const char *network_program;
    /* A seccomp profile as JSON text (sandbox/jail/filter.h), borrowed; NULL: the built-in one. */
    const char *profile;
    enum tier tier; /* of its jails; the host must allow it: sandbox/host_probe.h */
    /*
     * Where upper layers of overlay folders are on disk (sandbox/upper_store.h): an absolute path without
     * links, borrowed for the call; NULL: they are on a tmpfs.
     */
    const char *uppers;
    /* Where the roots of sandboxes are, for tiers without mounts (sandbox/roots/run_root.h): likewise. */
    const char *roots;
    /*
     * Called with protected names that runs left, or cells of sessions, whose done() is not called, or without a
     * result: also from engine_free(). May be NULL. `changes` is borrowed for the call.
     */
    void (*appeared)(void *data, const struct folder_changes *changes);
    void *appeared_data;
    /*
     * Called when a sandbox could not be prewarmed, or ended before its run: of each kind once, until one that was
     * prewarmed since gets a run. May be NULL. `fault` is borrowed for the call.
     */
    void (*prewarm_failed)(const struct fault *fault);
    /* Called from the loop when the queue, which may have been full, has become shorter. May be NULL. */
    void (*has_room)(void *data);
    void *has_room_data;
};

/* The engine keeps `loop`. 0, or a negative errno with its fault. */
int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret_engine,
               struct fault *fault);

/* Kills and reaps every run, without calling done; tells what they left in folders. NULL is fine. */
void engine_free(struct engine *engine);

/*
 * Starts a run or queues it. 0 and a handle that is valid until done has been called (borrowed from
 * the engine); -EAGAIN when the queue is full; -E2BIG; another negative errno: could not start.
 */
int engine_submit(struct engine *engine, const struct run_spec *spec,
                  const struct run_observer *observer, struct run **ret_run, struct fault *fault);

/*
 * Plans a session, which starts with its first cell. 0; or a negative errno of engine_submit() with its
 * fault.
 */
int engine_open_session(struct engine *engine, const struct session_spec *spec,
                        const struct session_observer *observer, struct session **ret_session,
                        struct fault *fault);

/*
 * Adds a further lane to a session: cells that another program runs, in the same jail. `spec` is as for a session on
 * the same image, with its member `joins_session`, but only the program, its variables and files count. It starts with its
 * first cell. 0 and the number for cell_spec.lane; -EMFILE: there are SESSION_LANES_MAX; or a negative errno of
 * engine_submit() with its fault.
 */
int engine_add_lane(struct session *session, const struct session_spec *spec, unsigned *ret_lane,
                    struct fault *fault);

/*
 * Further sessions of this kind may follow: the pool may prewarm a sandbox for the next one. Takes over
 * the hold, if it returns true.
 */
bool engine_expect_session(struct engine *engine, const struct session_spec *spec);

/*
 * Ends the run, queued or running. done and output are not called any more, and the handle becomes
 * invalid. All processes are killed; the slot becomes free once the loop has seen the end, which
 * takes a while if there is much memory to free.
 */
void engine_cancel(struct run *run);

/*
 * Passes SIGINT or SIGTERM on to the process group of the program, as a terminal would. 0; -ESRCH: it does not run, or
 * not yet; or another negative errno. May be called from inside output().
 */
int engine_signal(struct run *run, int signal_number);

/* Ends a started run as a limit would, as OUTCOME_CANCELLED: done() gets what there is. */
void engine_stop(struct run *run);

/*
 * For an observer that blocks the loop because its reader is slow: ends the run if it is past its
 * time or a polled limit. Call it every few milliseconds. No further call is allowed from inside
 * output().
 */
void engine_check_limits(struct run *run);

/* Whether the run is still queued. */
bool engine_is_queued(const struct run *run);

/* While held, no queued run starts. */
void engine_hold(struct engine *engine, bool hold);

/*
 * Finds out how limits can be enforced here; otherwise the first run does. This may take a second
 * if systemd must be asked. Calls `probed` once, from the loop; from then on engine_enforcement()
 * has the answer.
 */
void engine_probe(struct engine *engine, void (*probed)(void *data), void *data);

/* How limits are enforced; NULL before that is known. Borrowed from the engine. */
const struct engine_enforcement *engine_enforcement(const struct engine *engine);

/* The version of Landlock that jails use; 0: none (landlock(7)). */
int engine_landlock(const struct engine *engine);

/* Why the last template that could not be made was not, in words: template_failure(). "": each could be, or none was tried. */
const char *engine_template_failure(const struct engine *engine);

/* Runs that have started but not ended, and those that wait. */
struct engine_counts {
    size_t running, queued;
};

struct engine_counts engine_counts(const struct engine *engine);

#endif
