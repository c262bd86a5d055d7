/*
 * A template: an interpreter in a jail of its own, whose forks are sandboxes (sandbox/jail/child/fork_server.h).
 *
 * It serves one kind of sandboxes, and lives as long as any of them. Nothing else may run in its jail (template_family.h),
 * whose init makes the jails of its forks. It gets no line of a snippet.
 *
 * Side: parent.
 */
#ifndef SANDBOX_INTERPRETER_TEMPLATE_H
#define SANDBOX_INTERPRETER_TEMPLATE_H

#include "sandbox/limited_sandbox.h"

#include <stdbool.h>

enum template_stage {
    TEMPLATE_STARTING,
    TEMPLATE_READY,
    TEMPLATE_FAILED, /* it has ended, or could not fork */
};

struct interpreter_template;

/*
 * Starts one for sandboxes of that design, whose plan must have one (plan_has_template()). `changed` is called when the
 * stage changes, from the loop. NULL: it cannot be started.
 */
struct interpreter_template *template_start(struct sandbox_host *host,
                                            const struct sandbox_design *design,
                                            void (*changed)(void *data), void *data);

enum template_stage template_stage(const struct interpreter_template *template);

#define TEMPLATE_FAILURE_SIZE 160

/* Why it never became ready, in words; may end with text of the image, safe for a terminal. "": it was ready. */
const char *template_failure(const struct interpreter_template *template);

/* Whether it has made many forks, or is old. */
bool template_is_worn(const struct interpreter_template *template);

/* Whether it uses more than a run may, without its forks, or has a process that is not ours: takes a sample. */
bool template_is_past(struct interpreter_template *template);

/* It fails, and its forks end with it. */
void template_kill(struct interpreter_template *template);

/*
 * Makes a sandbox by a fork; it holds the template. 0, or a negative errno: then the template has failed, and
 * limited_sandbox_release() cleans up.
 */
int template_fork(struct interpreter_template *template, const struct sandbox_design *design,
                  struct limited_sandbox *limited);

/* Whether nothing else runs where a fork was made, so that it can be handed out. True for a sandbox that is none. */
bool template_fork_is_alone(const struct limited_sandbox *limited);

/* A fork of one that is in use has failed through it: no more are made. Nothing for a sandbox that is none. */
void template_note_failure(const struct limited_sandbox *limited);

/* The owner is done with it; it ends when no sandbox holds it. NULL is fine. */
void template_give_up(struct interpreter_template *template);

#endif
