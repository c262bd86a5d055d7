/*
 * The names that lead on from one name: its CNAME records, and those of what they name.
 *
 * Side: the broker. Source: RFC 1034, 3.6.2.
 */
#ifndef SANDBOX_NETWORK_BROKER_ALIASES_H
#define SANDBOX_NETWORK_BROKER_ALIASES_H

#include "sandbox/network/broker/broker_limits.h"
#include "sandbox/network/host_name.h"
#include "sandbox/network/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct aliases {
    char list[NAME_ALIASES_MAX][HOST_NAME_SIZE]; /* canonical */
    size_t count;
};

/* Adds the name, once. False: no host can have it, or NAME_ALIASES_MAX are there. */
bool aliases_add(struct aliases *aliases, const char *text);

/* Whether all of them may be. *denied gets the ports that rules deny of any: policy_judge_alias(). */
enum refusal aliases_judge(const struct aliases *aliases, const struct policy *policy,
                           struct policy_ports *denied);

#endif
