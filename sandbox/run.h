/*
 * Runs: a snippet goes in, its output and its exact end come out.
 *
 * An engine holds what all runs share (compiled filter, id map, queue). Everything happens on the
 * caller's loop; no call blocks longer than a clone3 does. Several runs proceed at once, up to
 * engine_options.parallel; further ones wait in a bounded queue, first in, first out.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RUN_H
#define SANDBOX_RUN_H

#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A symbolic link that is put into the fresh $HOME of each run. */
struct home_link {
    const char *path;   /* relative to $HOME, no "." or ".." parts; parents are made */
    const char *target; /* absolute path in the root file system */
};

#define RUN_HOME "/home/sandbox" /* $HOME of each run */

/* For a program that is started before its code is there, and for no other: a file in $HOME, and the
 * variable by which it is found. */
struct run_preparation {
    const char *path; /* relative to $HOME, as in home_link; NULL: there is none */
    const char *text; /* what is in it */
    const char *variable; /* NAME=VALUE */
};

/* What to run. Everything is borrowed for the call of run_submit() only. */
struct run_spec {
    const char *image; /* name, for messages and the result */
    const char *rootfs; /* host path of the image's root file system */
    /*
     * NULL; or, bottom to top, paths below `rootfs` of two and more directories in overlayfs form
     * that are the root file system together. They must stay as they are until hold.release.
     */
    const char *const *layers;
    /* Called once when nothing of the run is left, if run_submit() succeeded; may be NULL. */
    struct {
        void (*release)(void *data);
        void *data;
    } hold;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in the image's PATH */
    /* NULL-terminated NAME=VALUE beside the jail's own, or NULL; the last of a name counts. */
    const char *const *environment;
    const struct home_link *home_links;
    size_t home_link_count;
    const char *code_name; /* file name in the work directory: "main.py" */
    const char *code;
    size_t code_length; /* <= CODE_MAX */
    /*
     * The program reads its code once, from the start to the end, and so may have been started before
     * the code was there (engine_options.warm).
     */
    bool may_be_warm;
    struct run_preparation preparation;
    struct run_limits limits;
    int64_t wall_max_ms; /* the most that limits.wall_ms may be in runs like this; 0: what it is */
};

enum output_stream { OUTPUT_STDOUT, OUTPUT_STDERR };

struct run_observer {
    /*
     * Called once, from the loop and never from inside run_submit(). status 0: `result` says how
     * the program ended; negative errno: we failed, nothing of the snippet ran, `fault` says why.
     * Both pointers are borrowed for the call; pointer_take() members to keep them.
     */
    void (*done)(void *data, int status, struct run_result *result, const struct fault *fault);
    /*
     * Each piece of output as it comes, also what the result will not keep; may be NULL. Must not
     * cancel the run it is called for.
     */
    void (*output)(void *data, enum output_stream stream, const char *bytes, size_t length);
    void *data;
};

struct engine;
struct run;

enum cgroup_use {
    CGROUP_IF_POSSIBLE,
    CGROUP_REQUIRED, /* where one cannot be had, runs fail */
    CGROUP_NEVER,
};

struct engine_options {
    unsigned parallel; /* runs at once; 0: the number of processors this process may use */
    enum cgroup_use cgroup;
    /* The program that asks systemd for a scope (sandbox/scope/main.c), borrowed; NULL: none. */
    const char *scope_program;
    /*
     * Sandboxes that are kept ready for each kind of run (image, program, environment, limits) of
     * which there has been one: up to WARM_SANDBOXES_MAX; 0: none.
     */
    unsigned warm;
    /* A seccomp profile as JSON text (sandbox/jail/filter.h), borrowed; NULL: the program's own. */
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
int run_submit(struct engine *engine, const struct run_spec *spec,
               const struct run_observer *observer, struct run **ret_run, struct fault *fault);

/*
 * Ends the run, queued or running: done and output are not called any more, and the handle is gone.
 * All of it is killed; its place is free once the loop has seen the end of it, which may take a
 * while where there is much memory to free.
 */
void run_cancel(struct run *run);

/*
 * For an observer that keeps the loop waiting, because its reader is slow: ends the run if its time
 * is up, or if it is past a limit that is watched. To be called every few milliseconds; the only
 * call that is allowed from inside output().
 */
void run_check_limits(struct run *run);

/* Lets no queued run begin until it is called again with false. */
void engine_hold(struct engine *engine, bool hold);

/*
 * Finds out what enforces the limits here, which otherwise the first run does: it may take a second
 * where systemd has to be asked. `probed` is called once, from the loop; then, and once a run has
 * begun, engine_enforcement() tells.
 */
void engine_probe(struct engine *engine, void (*probed)(void *data), void *data);

/* NULL before it is known. Borrowed from the engine. */
const struct engine_enforcement *engine_enforcement(const struct engine *engine);

/* Whether it still waits for its turn. */
bool run_is_queued(const struct run *run);

/* Runs that are going on and runs that wait. */
size_t engine_running(const struct engine *engine);
size_t engine_queued(const struct engine *engine);

#endif
