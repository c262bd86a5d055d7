/*
 * What the calls of a session are made of, and told to: session_calls.h.
 *
 * Names and JSON come from the snippet: untrusted. Side: parent.
 */
#ifndef SANDBOX_CALLS_SPEC_H
#define SANDBOX_CALLS_SPEC_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"
#include "sandbox/call_frame.h"
#include "sandbox/limits/limits.h"

#include <stddef.h>
#include <stdint.h>

struct session_calls;
struct call_channel;
struct call_functions;

struct session_call {
    struct session_call *previous, *next;
    struct session_calls *calls;
    struct call_channel *channel;
    uint32_t id; /* the program's */
    uint32_t number; /* in its session, from 1 upwards; 0: it is not complete */
    char name[CALL_NAME_MAX + 1];
    size_t name_length;
    struct buffer arguments; /* JSON, as far as the program tells */
    int64_t began_at;
    struct loop_timer timer;
    void *data; /* the observer's */
};

/* From the loop. */
struct calls_observer {
    /* A call has come. It is answered by session_call_answer() or session_call_refuse(), at once or later. */
    void (*called)(void *data, struct session_call *call);
    /* Nobody waits for its answer any more; the handle is invalid from here on. */
    void (*cancelled)(void *data, struct session_call *call);
    void *data;
};

/* Of session_spec: borrowed until session_new() returns. */
struct calls_spec {
    struct calls_observer observer;
    const struct call_functions *functions; /* of cells that have no others: cell_spec.functions */
    uint64_t most; /* in a cell: 1..CALLS_MAX */
    int64_t call_ms; /* 1..CALL_MAX_MS */
};

/* Those that the call's snippet may call. */
const struct call_functions *session_call_functions(const struct session_call *call);

/* The value, as JSON of at most CALL_BYTES_MAX. Both end the call. */
void session_call_answer(struct session_call *call, const char *json, size_t length);
void session_call_refuse(struct session_call *call, enum call_error error, const char *type,
                         const char *text);

#endif
