/*
 * The side of a front end: sends calls to the pool, and tells the process that started this one how each ended.
 * {"ready": true} comes first, once there is a broker.
 *
 * Lines from that process: a call with a number as its id, or {"cancel": NUMBER}. Lines to it, one for each call:
 * {"id": NUMBER, "result": {...}}, {"id": NUMBER, "refused": WHY}: it did not run; or
 * {"id": NUMBER, "lost": WHY}: it may have run, in part or as a whole.
 *
 * Side: parent.
 */
#ifndef FLEET_CALLER_H
#define FLEET_CALLER_H

#include "fleet/nats_link.h"

/* Until the process that started this one ends its lines. 0 or a negative errno with its fault. */
int caller_run(struct nats_link *broker, struct fault *fault);

#endif
