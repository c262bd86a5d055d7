/*
 * The workers of a pool, for `doctor --workers`: asks all of them who they are, and prints their answers.
 *
 * Side: parent.
 */
#ifndef MCP_FLEET_CENSUS_H
#define MCP_FLEET_CENSUS_H

#include "mcp/fleet/broker.h"
#include "sandbox/base/buffer.h"

/* Who this worker is, as JSON: {"name", "places", "environments"}. 0 or a negative errno. */
int census_describe(const struct broker_options *options, unsigned places, struct buffer *text);

/*
 * Writes a line {"environments", "workers"}: the images here, and what workers answered within a second. 0 or a
 * negative errno with its fault.
 */
int census_run(struct broker *broker, struct fault *fault);

#endif
