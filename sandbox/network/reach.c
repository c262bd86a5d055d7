#include "sandbox/network/reach.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/link.h"

#include <arpa/inet.h>
#include <string.h>

#define PORT_ANY 1 /* the kernel chooses a source for any port alike */
#define MULTICAST 0xe0000000
#define MULTICAST_MASK 0xf0000000
#define NETWORK_MASK 0xff000000 /* of 0.0.0.0/8 and 127.0.0.0/8 */
#define NOBODY 0xf0000001 /* 240.0.0.1, which no machine has: RFC 1112, 4 */

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

/* Whether a socket may have the address for its own. `otherwise`: the answer without a descriptor. */
static bool can_bind(const struct address *address, bool otherwise)
{
    struct sockaddr_storage own;
    socklen_t size = address_to_socket(address, 0, &own);
    OWNED_FD int fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? otherwise : bind(fd, (struct sockaddr *)&own, size) == 0;
}

/*
 * Whether the kernel says so by bind(2), which tells nothing where every address can be bound
 * (net.ipv4.ip_nonlocal_bind).
 */
static bool is_bound_here(const struct address *address)
{
    const struct address nobody = address_of_ipv4(htonl(NOBODY));
    return can_bind(address, true) && !can_bind(&nobody, false);
}

/*
 * Whether the address is one of this machine: then a packet to it would have it as its source, too. The second
 * IPv4 address of a network is never a source, so of IPv4 bind(2) is asked as well. True if that cannot be found out.
 */
static bool is_own(const struct address *address)
{
    struct sockaddr_storage to;
    struct sockaddr_storage from;
    struct address source;
    if (address_is_ipv4(address) && is_bound_here(address))
        return true;
    socklen_t size = address_to_socket(address, PORT_ANY, &to);
    OWNED_FD int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    if (connect(fd, (struct sockaddr *)&to, size) < 0)
        return false; /* no way leads there, and so none to this machine */
    size = sizeof(from);
    return getsockname(fd, (struct sockaddr *)&from, &size) < 0 ||
           !address_from_socket((struct sockaddr *)&from, &source) ||
           address_is_same(&source, address);
}

/* The same of the IPv4 address behind an address of IPv6: a gateway of NAT64 or 6to4 would lead back here. */
static bool leads_here(const struct address *address)
{
    struct address embedded;
    return is_own(address) || (address_embedded(address, &embedded) && is_own(&embedded));
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
