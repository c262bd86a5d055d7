/*
 * The way that packets of this machine take.
 *
 * Side: both. Source: rtnetlink(7).
 */
#ifndef SANDBOX_NETWORK_WAY_H
#define SANDBOX_NETWORK_WAY_H

#include "sandbox/network/address.h"

#include <stdbool.h>

/*
 * Whether packets to the address stay on this machine, as those to its own addresses do and those to a route of
 * type "local" (AnyIP), by which each address of a network is its own. True if that cannot be found out.
 */
bool way_stays_here(const struct address *address);

#endif
