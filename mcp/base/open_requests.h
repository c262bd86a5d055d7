/*
 * Requests that have no answer yet, of all clients: so that each can be cancelled, and no other has its id.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Cancellation".
 */
#ifndef MCP_BASE_OPEN_REQUESTS_H
#define MCP_BASE_OPEN_REQUESTS_H

#include "mcp/base/rpc.h"

#include <stdbool.h>
#include <stdint.h>

/* Part of what its handler keeps. It is taken out by the handler, before the answer is given or dropped. */
struct open_request {
    struct open_request *previous, *next;
    struct rpc_answer *answer; /* the handler's */
    /* Ends what it does, drops the answer and takes it out. */
    void (*cancel)(struct open_request *request);
    /* No further request comes: answers it and takes it out, or sets this to NULL and has it end. NULL: it ends by itself. */
    void (*conclude)(struct open_request *request);
};

struct open_requests {
    struct open_request *first; /* the newest */
};

void open_requests_add(struct open_requests *requests, struct open_request *request);
void open_requests_remove(struct open_requests *requests, struct open_request *request);

/* Whether a request of the same peer with the same id is open. */
bool open_requests_have(const struct open_requests *requests, const struct rpc_answer *answer);

/* Cancels that of the peer with that id; an unknown, answered or odd id is ignored. */
void open_requests_cancel(struct open_requests *requests, uint64_t peer,
                          const struct json_value *id);

/* Cancels all whose answer would go there; NULL: all. */
void open_requests_cancel_all(struct open_requests *requests, const struct rpc *rpc);

/* Concludes all that do not end by themselves. */
void open_requests_conclude(struct open_requests *requests);

#endif
