/*
 * What is said of sessions, to models.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SESSION_TEXT_H
#define INTERPRETER_SESSION_TEXT_H

#include "interpreter/session_table.h"

/* A session as a result shows it. All borrowed. */
struct session_view {
    const char *handle;
    bool is_kept;
    const char *reason;    /* why it ended: as in session_end; NULL while it is kept */
    const char *kept;      /* "variables and files" */
    bool has_variables;    /* of the language of the call, from call to call */
    uint64_t calls;        /* this one included */
    int64_t idle_ms;       /* how long it is kept without a call */
    struct run_checkpoint checkpoint; /* of the language of the call */
    const char *displaced; /* the session that ended to make room for it, or "" */
};

/* Why a handle names no session of its owner that a call can go on with. -ENOENT. */
int session_text_explain_unknown(const struct session_table *table, unsigned owner,
                                 const char *handle, struct fault *fault);

/* Why no session can be started. -EAGAIN. */
int session_text_explain_busy(const struct session_table *table, unsigned owner,
                              struct fault *fault);

/* The line of the notes. 0 or a negative errno of buffer_append(). */
int session_text_note(const struct session_view *view, struct buffer *text);

/* What follows the outcome of a failed call; may be nothing. The same. */
int session_text_end(const struct session_view *view, const struct run_result *result,
                     struct buffer *text);

#endif
