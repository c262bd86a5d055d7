/*
 * Looks after the calls of a front end: which are lost, because their worker or the broker is gone, and which are
 * refused, because no worker has their image.
 *
 * Side: parent.
 */
#ifndef FLEET_WATCH_H
#define FLEET_WATCH_H

#include "fleet/publisher.h"

struct watch {
    struct nats_link *broker;
    struct sent_calls *calls;
    struct publisher *publisher;
    natsSubscription *answers; /* borrowed: where workers speak */
    int64_t seen_at;  /* the time, by the thread */
    int64_t woken_at; /* after this process had been stopped, or had no time; 0: never */
    int64_t asked_at[ENVIRONMENTS_MAX]; /* who has the image */
    pthread_t thread;
};

/* Starts a thread that goes on until the process ends. 0 or a negative errno with its fault. */
int watch_start(struct watch *watch, struct fault *fault);

/* Why a call is refused then: asks whether there is any worker. */
void watch_explain_missing(struct nats_link *broker, const struct environment_name *environment,
                           struct fault *fault);

#endif
