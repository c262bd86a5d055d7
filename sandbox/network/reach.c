#include "sandbox/network/reach.h"

#include "sandbox/network/link.h"
#include "sandbox/network/way.h"

#include <arpa/inet.h>
#include <string.h>

#define MULTICAST 0xe0000000
#define MULTICAST_MASK 0xf0000000
#define NETWORK_MASK 0xff000000 /* of 0.0.0.0/8 and 127.0.0.0/8 */

static struct reach refused(enum refusal refusal)
{
    return (struct reach){.verdict.refusal = refusal};
}

struct reach reach_judge_host(const struct policy *policy, const char *name, uint16_t port)
{
    if (host_name_is_local(name) || strcmp(name, LINK_JAIL_NAME) == 0)
        return refused(REFUSAL_HOST_ITSELF);
    struct reach reach = {.verdict = policy_judge_name(policy, name)};
    if (reach.verdict.refusal == REFUSAL_NONE)
        reach.verdict = policy_judge_host(policy, name, port);
    if (reach.verdict.refusal != REFUSAL_NONE)
        return reach;
    reach.map = policy_find_map(policy, name, port);
    reach.is_proxied = policy_is_proxied(policy, name, NULL);
    return reach;
}

bool reach_stays_inside(const struct address *address)
{
    if (!address_is_ipv4(address))
        return true;
    uint32_t ipv4 = ntohl(address_ipv4(address));
    uint32_t network = ipv4 & NETWORK_MASK;
    return network == 0 || network == (INADDR_LOOPBACK & NETWORK_MASK) ||
           (ipv4 & MULTICAST_MASK) == MULTICAST || ipv4 == INADDR_BROADCAST ||
           ipv4 == LINK_JAIL_ADDRESS || ipv4 == LINK_FACTORY_ADDRESS;
}

/* Also by the IPv4 address behind an address of IPv6: a gateway of NAT64 or 6to4 would lead back here. */
static bool leads_here(const struct address *address)
{
    struct address embedded;
    return way_stays_here(address) ||
           (address_embedded(address, &embedded) && way_stays_here(&embedded));
}

struct reach reach_judge_address(const struct policy *policy, bool by_name,
                                 const struct address *address, uint16_t port)
{
    struct reach reach = {.verdict = policy_judge_address(policy, by_name, address, port)};
    if (reach.verdict.refusal != REFUSAL_NONE)
        return reach;
    if (!by_name && reach_stays_inside(address))
        return refused(address_kind(address) == ADDRESS_HOST ? REFUSAL_HOST_ITSELF
                                                             : REFUSAL_PRIVATE);
    reach.is_proxied = !by_name && policy_is_proxied(policy, "", address);
    return !reach.verdict.by_address && leads_here(address) ? refused(REFUSAL_HOST_ITSELF) : reach;
}
