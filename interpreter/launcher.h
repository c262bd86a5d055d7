/*
 * From a language and some code to a run: finds the image, makes the engine when it is first
 * needed, and submits.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_LAUNCHER_H
#define INTERPRETER_LAUNCHER_H

#include "interpreter/compiler.h"
#include "interpreter/languages/language.h"
#include "interpreter/live_session.h"
#include "interpreter/metrics/metrics.h"
#include "interpreter/preparation.h"
#include "interpreter/remote.h"
#include "interpreter/settings/settings.h"
#include "interpreter/snippet.h"
#include "sandbox/engine.h"
#include "sandbox/session.h"

#include <stddef.h>
#include <stdint.h>

struct launcher {
    struct loop *loop;               /* borrowed */
    const struct settings *settings; /* borrowed */
    struct engine *engine;           /* owned; NULL before the first run */
    struct remote remote;            /* of --workers */
    struct preparer preparer;
    struct compiler compiler;
    uint64_t warm;                   /* engine_options.warm */
    bool logs_prewarming; /* that it has failed */
    char *scope_program; /* owned; NULL: not looked for yet, or not there */
    char *network_program; /* the same, of the network's broker */
    unsigned holds; /* of enum hold */
    struct buffer
        unheard; /* owned; warnings of mounts_warn() about runs without a result, for the next one */
    bool is_released; /* so that nothing that was started is left */
};

/* Cheap, without side effects: nothing is looked for before the first run. */
struct launcher launcher_of(struct loop *loop, const struct settings *settings);

/*
 * For a server: keeps sandboxes prewarmed as the settings want it, and logs if it cannot. Without any, it has no templates
 * either.
 */
void launcher_prewarm(struct launcher *launcher);

enum hold {
    HOLD_UNREAD = 1, /* the client does not read its answers */
    HOLD_PATCHES = 2, /* patches of ended runs wait to be made */
};

/* Lets no further run begin for that reason: those that are started wait. Or lets them, for its part. */
void launcher_hold(struct launcher *launcher, enum hold reason, bool hold);

/* Makes the engine, when it is first needed. 0, or a negative errno with its fault. */
int launcher_ensure_engine(struct launcher *launcher, struct fault *fault);

/* Kills every run without a word to its observer. */
void launcher_release(struct launcher *launcher);

/*
 * Finds out what will hold runs to their limits, which otherwise the first run does; then calls
 * `probed` from the loop, once, and engine_enforcement() tells. 0, or a negative errno with its
 * fault: no run could be made at all.
 */
int launcher_probe(struct launcher *launcher, void (*probed)(void *data), void *data,
                   struct fault *fault);

/* For a struct metrics_file: what its engine does. `data` is the launcher. */
void launcher_look(void *data, struct metrics_now *ret_now);

/* A run that goes on: here or, with --workers, elsewhere. All zero: none. */
struct launched {
    struct run *run; /* the engine's */
    struct remote_run *remote;
    struct compiled_run *compiled; /* of a compiled language */
};

/*
 * Starts a run of the snippet, or queues it; with --workers, sends it, never starting it here. As
 * engine_submit(), or remote_start(); the fault is filled for each failure and gives the remedy: -ENOENT the
 * image is not there, -EAGAIN too many wait already. *ret_launched, which may be NULL, is of use until done().
 */
int launcher_start(struct launcher *launcher, const struct snippet *snippet,
                   const struct run_observer *observer, struct launched *ret_launched,
                   struct fault *fault);

/* As engine_signal() and engine_stop(). A run elsewhere cannot be told: -EOPNOTSUPP, or nothing happens. */
int launched_signal(const struct launched *launched, int signal_number);
void launched_stop(const struct launched *launched);

/* As engine_cancel() and engine_is_queued(). */
void launched_cancel(const struct launched *launched);
bool launched_is_queued(const struct launched *launched);

/* Whether there is a run. */
bool launched_goes_on(const struct launched *launched);

/* Whether its compiler is at work. */
bool launched_is_compiling(const struct launched *launched);

/* As engine_check_limits(), if it is here. */
void launched_check_limits(const struct launched *launched);

/*
 * The image of that name, or if NULL, the one that has all languages, or else the first language's; and the language that is
 * first of those that run on it. -ENOENT: it is not there, or has none.
 */
int launcher_choose_image(const struct settings *settings, const char *name, const char **ret_image,
                          const struct language **ret_language, struct fault *fault);

/* What a session is, beyond the settings. Borrowed for the call. */
struct session_wish {
    const struct language *language; /* of its first interpreter; it must have a runner */
    const char *image; /* its name; NULL: that of the language */
    bool keeps_running; /* run_spec.keeps_running */
    const struct calls_spec *calls; /* what its cells may call; or NULL: nothing */
    bool has_no_checkpoints; /* its cells are the server's own */
    /* NAME=VALUE, NULL-terminated: variables besides the operator's; or NULL. */
    const char *const *environment;
    /* Less than the settings say; 0: as they say. */
    uint64_t memory_bytes, disk_bytes, processes, output_bytes;
};

/*
 * Plans a session on the image of the language; it starts with its first cell or command. As engine_open_session();
 * -EINVAL, too, if it cannot have what is wished.
 */
int launcher_open_session(struct launcher *launcher, const struct session_wish *wish,
                          const struct session_observer *observer, struct live_session *ret_live,
                          struct fault *fault);

/* Whether the session's image has the program in its PATH. */
bool launcher_has_program(const struct live_session *live, const char *program);

/* Whether the session has run the language, or its image has the interpreter. */
bool launcher_may_continue(const struct live_session *live, const struct language *language);

/*
 * Runs the snippet as the next cell of the session, also in a language that is new to it, if its image has that. As
 * session_submit() and engine_add_lane(); -ENOENT: the image has no interpreter for it.
 */
int launcher_continue(struct launcher *launcher, struct live_session *live,
                      const struct snippet *snippet, const struct run_observer *observer,
                      struct cell **ret_cell, struct fault *fault);

#endif
