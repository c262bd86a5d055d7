/*
 * Calls that workers on other machines run, by way of code-sandbox-mcp-fleet.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_WORKERS_FLEET_LINK_H
#define INTERPRETER_WORKERS_FLEET_LINK_H

#include "interpreter/base/channel.h"
#include "interpreter/workers/fleet_process.h"
#include "sandbox/base/json.h"

/* A call that was sent; part of its owner. */
struct fleet_ticket {
    /*
     * Set by the owner: once, from the loop. NULL: the program has ended; unless it was never connected to a
     * broker, the call may have run.
     */
    void (*answered)(struct fleet_ticket *ticket, const struct json_value *answer);
    /* The rest is fleet_link.c's. */
    struct fleet_ticket *previous, *next;
    struct fleet_link *link; /* NULL: it was not sent, or is answered */
    uint64_t number;
    bool is_taken; /* by a worker */
    bool may_have_run; /* when it is answered with NULL */
    const char *reason; /* then: why, for people; borrowed for the call */
};

/* It stays where it is. */
struct fleet_link {
    struct fleet_process process;
    struct channel channel;
    struct channel_observer observer;
    struct fleet_ticket *first;
    uint64_t last_number;
    bool is_open;
    bool is_connected; /* to the broker, at least once */
    struct fault failure; /* why the program has ended, if it said so */
    bool has_failed; /* it says nothing, or what it was not made to say */
    struct loop *loop; /* borrowed */
    int64_t heard_at; /* clock_now(): the last line */
    int64_t looks_at; /* clock_now(): for a sign of life */
    struct loop_timer silence; /* armed while a ticket waits: the program must say something */
};

/* To be closed in any case. 0 or a negative errno with its fault. */
int fleet_link_open(struct fleet_link *link, struct loop *loop, const struct fleet_settings *fleet,
                    const struct settings *settings, struct fault *fault);

/* The broker forgets what no worker has taken; workers kill what they run. No ticket is answered any more. */
void fleet_link_close(struct fleet_link *link);

/*
 * Sends the call: the text of an object with members, none of them an id. 0: an answer follows; or a negative
 * errno with its fault.
 */
int fleet_link_send(struct fleet_link *link, struct fleet_ticket *ticket, const struct buffer *call,
                    struct fault *fault);

/* Why it is open no more, for people. */
const char *fleet_link_end(const struct fleet_link *link);

/* Nobody wants the answer any more, if one is to come. */
void fleet_ticket_drop(struct fleet_ticket *ticket);

#endif
