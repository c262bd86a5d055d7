/*
 * The side of a worker: takes calls from the broker, hands them to the process that started this one,
 * and brings their results to the front ends.
 *
 * Side: parent.
 */
#ifndef FLEET_TAKER_H
#define FLEET_TAKER_H

#include "fleet/nats_link.h"

/*
 * Until the process that started this one ends, or says {"drain":true} and all runs have ended. 0 when drained;
 * or a negative errno with its fault.
 */
int taker_run(struct nats_link *broker, unsigned places, struct fault *fault);

#endif
