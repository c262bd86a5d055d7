/*
 * Functions of a client that the snippets of its session call: `functions` of code-sandbox/open, and the requests
 * code-sandbox/call from the server to the client that waits for the snippet. Over HTTP, that is a request; its owner's
 * answers come with others.
 *
 * Names and arguments come from a snippet. Only names that the client has declared are passed on, and arguments that are JSON;
 * what the client answers goes to the snippet as it is. Side: parent.
 */
#ifndef MCP_EXTENSION_FUNCTIONS_H
#define MCP_EXTENSION_FUNCTIONS_H

#include "mcp/tools/context.h"
#include "sandbox/call_functions.h"
#include "sandbox/calls_spec.h"

/* Who answers the calls of a session. */
struct functions {
    struct context *context;
    unsigned owner; /* of the session: struct rpc */
    char handle[SESSION_HANDLE_SIZE];
};

/* 0; -EINVAL with a fault of the id "invalid_parameter"; -ENOMEM. */
int functions_read(const struct json_value *list, struct call_functions **ret_functions,
                   struct fault *fault);

/* Of that session. NULL: no memory. */
struct functions *functions_new(struct context *context, const struct session_entry *entry);

/* For open_session(): NULL is fine. Calls that the client has not answered are forgotten. */
void functions_free(void *functions);

/* Borrows both. 1..CALLS_MAX calls of a cell; the time of each. */
struct calls_spec functions_spec(struct functions *functions, const struct call_functions *declared,
                                 uint64_t calls, int64_t call_ms);

/* An answer of the owner's: any other than that of an open request to the same owner is logged and ignored. */
void functions_take_answer(struct context *context, unsigned owner, const struct json_value *id,
                           const struct json_value *result, const struct json_value *error);

/* No answer of it will come: what waits for one is refused, and so is what it would be asked. */
void functions_silence(struct context *context, struct client *client);

/* It is about to be gone, and what it waited for is cancelled: it is told so of its open requests, as far as it still hears. */
void functions_forget(struct context *context, const struct client *client);

#endif
