/*
 * Runs in two phases: a compiler in a sandbox of its own, then its program in that of the run.
 *
 * The compiler has the code and the input files, folders to read, no network, no variables of the operator, and its own
 * time. Runs that wait for the same program share one compiler. Programs are kept (compile_cache.h), unless folders, whose
 * files may have gone into them, are there.
 *
 * Programs are large: one that the engine's queue has no room for waits here until there is some. All that wait here, for that
 * or for a compiler, are as many and as large as the engine's queue may be.
 *
 * A compiler that fails makes the result of the run, OUTCOME_COMPILE_FAILED, whose streams are what it printed; any other
 * result of such a run has what it did in `compile`.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_COMPILER_H
#define INTERPRETER_COMPILER_H

#include "interpreter/preparation.h"
#include "interpreter/snippet.h"
#include "sandbox/base/fault.h"
#include "sandbox/engine.h"

#include <stdbool.h>

struct compilation;
struct compiled_run;

/* Of a launcher, which sets the first three. */
struct compiler {
    const struct settings *settings; /* borrowed, with the next */
    struct preparer *preparer;
    /* Submits what is prepared, as engine_submit(), and takes over what that holds. */
    int (*submit)(struct compiler *compiler, struct preparation *preparation,
                  const struct run_spec *spec, const struct run_observer *observer,
                  struct run **ret_run, struct fault *fault);
    struct compilation *first; /* owned: those that go on */
    struct compiled_run *runs; /* owned: those that have not ended */
    size_t kept_count, kept_bytes; /* of the snippets of those whose program does not run yet */
    struct folders
        folders; /* those of the settings, to read alone; borrows everything but its list */
};

/* Starts a run of a compiled language here. As launcher_start(); -EAGAIN: too many wait. */
int compiled_run_start(struct compiler *compiler, const struct snippet *snippet,
                       const struct run_observer *observer, struct compiled_run **ret_run,
                       struct fault *fault);

/* As launched_signal(), launched_stop(), launched_cancel() and launched_is_queued(), whichever phase it is in. */
int compiled_run_signal(const struct compiled_run *run, int signal_number);
void compiled_run_stop(const struct compiled_run *run);
void compiled_run_cancel(struct compiled_run *run);
bool compiled_run_is_queued(const struct compiled_run *run);

/* Whether its compiler is at work. */
bool compiled_run_is_compiling(const struct compiled_run *run);

/* Starts programs that wait for room in the queue of the engine, which may have some now. */
void compiler_go_on(struct compiler *compiler);

/* As engine_check_limits(). */
void compiled_run_check_limits(const struct compiled_run *run);

/* Frees all runs without a word to their observers; the engine is gone already. */
void compiler_release(struct compiler *compiler);

#endif
