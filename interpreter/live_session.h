/*
 * A session that is alive, and the languages that it has run.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_LIVE_SESSION_H
#define INTERPRETER_LIVE_SESSION_H

#include "images/store/image_use.h"
#include "interpreter/languages/language.h"
#include "sandbox/limits/limits.h"

struct live_session {
    struct session *session;  /* the engine's; NULL until it is open */
    struct used_image *used;  /* borrowed: the session holds it */
    char image[IMAGE_NAME_MAX + 1];
    const struct language *languages[SESSION_LANES_MAX]; /* by the numbers of their lanes */
    size_t language_count;
    bool has_calls; /* session_wish.calls */
    struct run_limits limits; /* of the whole session */
    char **
        environment; /* owned: NAME=VALUE, variables of each of them besides the operator's, up to NULL; or NULL */
};

/* A copy of such a list, which may be NULL. 0; -ENOMEM with a fault. */
int live_session_copy_variables(const char *const *environment, char ***ret_environment,
                                struct fault *fault);
void live_session_free_variables(char ***environment);

/* What it keeps from call to call: "variables and files". */
const char *live_session_kept(const struct live_session *live);

#endif
