/*
 * The calls of a front end that have no end yet, and what is known of each.
 *
 * A call ends once: whoever takes it out of the list tells how. Its functions may be called from any thread.
 *
 * Results on their way, those with some of their parts here, have RESULTS_ON_THE_WAY_MAX together. Nothing that has some
 * of this room waits for more of it: a first part is kept only if there is room for the whole result, and the others then
 * find theirs. A result without room has nothing here: its worker repeats the first part, and later ones do not overtake
 * it. WIRE_CONFIRM_MS after its first part has come, each is whole or lost; so room comes back, whatever workers do.
 *
 * Side: parent.
 */
#ifndef FLEET_SENT_CALLS_H
#define FLEET_SENT_CALLS_H

#include "fleet/nats_link.h"
#include "fleet/word.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/buffer.h"

#define RESULTS_ON_THE_WAY_MAX (256 * MEBIBYTE)

struct sent_call {
    struct sent_call *previous, *next;
    uint64_t number;
    const struct environment_name *environment;
    int64_t sent_at;    /* clock_now(); 0: not yet */
    struct buffer text; /* until it is known to be stored */
    int64_t stored_at; /* clock_now(), when a worker last said so; 0: never */
    int64_t asked_at;  /* whether it is stored */
    unsigned absences; /* how often it was not, since it was */
    bool is_taken;
    int64_t wall_ms;  /* the time limit that it brings with it, or the highest that there is */
    int64_t taken_at; /* clock_now() */
    int64_t heard_at; /* of the worker that has it */
    char worker[SUBJECT_ID_SIZE]; /* nobody else is heard */
    char name[WIRE_NAME_MAX]; /* of that worker, for people */
    struct buffer result;
    size_t parts; /* that have come, in order */
    size_t count; /* of all parts, as the first one says */
    size_t part_size; /* of the first: no other is longer */
    size_t room; /* that the whole result needs; 0: no part has come, or the first is the last */
    int64_t came_at; /* clock_now(): the first part, whether there was room or not; 0: not yet */
};

struct sent_calls {
    pthread_mutex_t mutex;
    uint64_t queue_most; /* calls that the queue takes, as a worker says; 0: not known */
    struct sent_call *first; /* owned */
};

#define SENT_CALLS ((struct sent_calls){.mutex = PTHREAD_MUTEX_INITIALIZER})

/* A call of ours. */
struct new_call {
    uint64_t number;
    const struct environment_name *environment;
    int64_t wall_ms;
};

/* Takes over the text. 0 or -ENOMEM. */
int sent_calls_add(struct sent_calls *calls, const struct new_call *new, struct buffer *text);

/*
 * For a call that is about to be sent: a copy of its text, and its environment. 0; -ENOENT: it has ended, or the
 * broker has stored it; -ENOMEM.
 */
int sent_calls_send(struct sent_calls *calls, uint64_t number, struct buffer *text,
                    const struct environment_name **ret_environment);

/* A worker is asked whether it is stored. */
void sent_calls_note_asked(struct sent_calls *calls, uint64_t number);

/* What a worker says of a call; both are untrusted. */
struct report {
    uint64_t number;
    const char *
        worker; /* a random name of 128 bits; NULL: it does not say, of WORD_STORED and WORD_ABSENT */
    const struct word *word;
};

enum sent_answer {
    SENT_GO, /* it has the call, and its part is confirmed */
    SENT_GONE, /* it is to forget the call */
    SENT_NOTHING, /* none: it asks again */
};

/* Does what a worker says. What it is to be told. */
enum sent_answer sent_calls_take_word(struct sent_calls *calls, const struct report *report);

/* Whether the first part of its result has come, and there has been no room for it. */
bool sent_call_waits_for_room(const struct sent_call *call);

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
