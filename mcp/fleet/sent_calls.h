/*
 * The calls of a front end that have no end yet, and what is known of each.
 *
 * A call ends once: whoever takes it out of the list tells how. Its functions may be called from any thread.
 * Side: parent.
 */
#ifndef MCP_FLEET_SENT_CALLS_H
#define MCP_FLEET_SENT_CALLS_H

#include "mcp/fleet/broker.h"
#include "sandbox/base/buffer.h"

struct sent_call {
    struct sent_call *next;
    uint64_t number;
    const struct environment_name *environment;
    int64_t sent_at;    /* clock_now(); 0: not yet */
    struct buffer text; /* until the broker has stored it */
    uint64_t sequence;  /* in the stream; 0: not known yet */
    int64_t stored_at;
    bool is_taken;
    int64_t heard_at; /* of the worker that has it */
    char worker[WIRE_NAME_MAX];
    struct buffer result;
    size_t parts; /* that have come, in order */
};

struct sent_calls {
    pthread_mutex_t mutex;
    struct sent_call *first; /* owned */
};

#define SENT_CALLS ((struct sent_calls){.mutex = PTHREAD_MUTEX_INITIALIZER})

/* Takes over the text. 0 or -ENOMEM. */
int sent_calls_add(struct sent_calls *calls, uint64_t number,
                   const struct environment_name *environment, struct buffer *text);

/*
 * For a call that is about to be sent: a copy of its text, and its environment. 0; -ENOENT: it has ended, or the
 * broker has stored it; -ENOMEM.
 */
int sent_calls_send(struct sent_calls *calls, uint64_t number, struct buffer *text,
                    const struct environment_name **ret_environment);

/* Where the broker keeps it. False: it has ended. */
bool sent_calls_note_sequence(struct sent_calls *calls, uint64_t number, uint64_t sequence);

/* Whether the worker may run it: the first one that asks. Writes {"id", "taken"} then. */
bool sent_calls_grant(struct sent_calls *calls, uint64_t number, const char *worker);

/* Whether somebody waits for it. */
bool sent_calls_hear(struct sent_calls *calls, uint64_t number);

/* "I N BYTES". Ends the call with the last part. Whether the part is confirmed. */
bool sent_calls_take_part(struct sent_calls *calls, uint64_t number, const char *part,
                          size_t length);

/* Ends the call: writes {"id", KIND: reason}. False: it has ended already. */
bool sent_calls_end(struct sent_calls *calls, uint64_t number, const char *kind,
                    const char *reason);

/* Ends it as refused, unless a worker may run it. False: one may, or it has ended. */
bool sent_calls_refuse(struct sent_calls *calls, uint64_t number, const char *reason);

/* Ends it without a word. *ret_call is a copy as below. False: it has ended already. */
bool sent_calls_forget(struct sent_calls *calls, uint64_t number, struct sent_call *ret_call);

/* A copy of the first call with a higher number, without its text and result. False: there is none. */
bool sent_calls_next(struct sent_calls *calls, uint64_t after, struct sent_call *ret_call);

#endif
