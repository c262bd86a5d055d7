/*
 * Where a connection of a jail leads, and whether it may: the one decision, of the broker and of `network
 * check`. The policy decides by its rules alone (policy.h); this adds what the machine and the jail are.
 *
 * Side: both.
 */
#ifndef SANDBOX_NETWORK_REACH_H
#define SANDBOX_NETWORK_REACH_H

#include "sandbox/network/policy.h"

struct reach {
    struct policy_verdict verdict;
    const struct policy_rule
        *map; /* where the operator leads the host instead; borrowed, NULL: nowhere */
    bool is_proxied;
};

/*
 * A port of a named host. If neither a rule leads it elsewhere nor a proxy resolves its name, each of its
 * addresses is to be judged as well.
 */
struct reach reach_judge_host(const struct policy *policy, const char *name, uint16_t port);

/* A port of an address, 0: of some. `by_name`: the address is one of a named host that may be reached. */
struct reach reach_judge_address(const struct policy *policy, bool by_name,
                                 const struct address *address, uint16_t port);

/*
 * Whether connections to this address stay in the jail, as those to its loopback addresses, or fail there.
 * Addresses of IPv6 all do.
 */
bool reach_stays_inside(const struct address *address);

#endif
