/*
 * Who is there: what a worker says of itself, and what front ends and `doctor --workers` make of it.
 *
 * Side: parent.
 */
#ifndef FLEET_CENSUS_H
#define FLEET_CENSUS_H

#include "fleet/nats_link.h"
#include "sandbox/base/buffer.h"

#define CENSUS_PLACES_MAX 1000000 /* of a worker */

/* Who this worker is, as JSON: {"name", "places", "environments"}. 0 or a negative errno. */
int census_describe(const struct broker_options *options, unsigned places, struct buffer *text);

/* Whether a worker has the environment. 0; -ENOENT: none; another negative errno: not known. */
int census_ask(struct nats_link *broker, const char *environment);

/*
 * Writes a line {"environments", "workers"}: the images here, and what workers answered within a second. 0 or a
 * negative errno with its fault.
 */
int census_run(struct nats_link *broker, struct fault *fault);

#endif
