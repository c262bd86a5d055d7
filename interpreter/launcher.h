/*
 * From a language and some code to a run: finds the image, makes the engine when it is first
 * needed, and submits.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_LAUNCHER_H
#define INTERPRETER_LAUNCHER_H

#include "images/store/image_use.h"
#include "interpreter/certificates.h"
#include "interpreter/languages/language.h"
#include "interpreter/metrics/metrics.h"
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
    struct used_images used;         /* by runs that go on */
    uint64_t warm;                   /* engine_options.warm */
    bool has_templates; /* many snippets may come: engine_options.templates, if wanted */
    bool logs_prewarming; /* that it has failed */
    char *scope_program; /* owned; NULL: not looked for yet, or not there */
    char *network_program; /* the same, of the network's broker */
    unsigned holds; /* of enum hold */
    struct buffer
        unheard; /* owned; warnings of mounts_warn() about runs without a result, for the next one */
    bool is_released; /* so that nothing that was started is left */
    struct certificates certificates[LANGUAGE_COUNT]; /* owned; of the image each was last run on */
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

/*
 * Plans a session of the language, which must have a runner; it starts with its first cell. As
 * engine_open_session().
 */
int launcher_open_session(struct launcher *launcher, const struct language *language,
                          const struct session_observer *observer, struct session **ret_session,
                          struct fault *fault);

/* Runs the snippet as the next cell of the session. As session_submit(). */
int launcher_continue(struct launcher *launcher, struct session *session,
                      const struct snippet *snippet, const struct run_observer *observer,
                      struct cell **ret_cell, struct fault *fault);

#endif
