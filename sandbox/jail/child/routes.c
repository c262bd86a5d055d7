#include "sandbox/jail/child/jail_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK_INDEX 1 /* of the only interface */
#define REQUESTS_SIZE 1024
#define ANSWER_SIZE 512

/* Requests that go to the kernel together. The last one alone asks for an answer; errors answer always. */
struct requests {
    _Alignas(struct nlmsghdr) char bytes[REQUESTS_SIZE];
    size_t length;
    uint32_t count;
    struct nlmsghdr *last;
};

static void add_request(struct requests *requests, uint16_t type, uint16_t flags, const void *body,
                        size_t size)
{
    struct nlmsghdr *header = (struct nlmsghdr *)(void *)(requests->bytes + requests->length);
    *header = (struct nlmsghdr){
        .nlmsg_len = (uint32_t)NLMSG_SPACE(size),
        .nlmsg_type = type,
        .nlmsg_flags = NLM_F_REQUEST | flags,
        .nlmsg_seq = ++requests->count,
    };
    memcpy(NLMSG_DATA(header), body, size);
    requests->length += header->nlmsg_len;
    requests->last = header;
}

/* To the last request. All our attributes have at most four bytes. */
static void add_attribute(struct requests *requests, uint16_t type, const void *data, size_t size)
{
    struct rtattr *attribute = (struct rtattr *)(void *)(requests->bytes + requests->length);
    attribute->rta_type = type;
    attribute->rta_len = (uint16_t)RTA_LENGTH(size);
    memcpy(RTA_DATA(attribute), data, size);
    requests->length += RTA_SPACE(size);
    requests->last->nlmsg_len += (uint32_t)RTA_SPACE(size);
}

static void add_address(struct requests *requests)
{
    const struct ifaddrmsg body = {
        .ifa_family = AF_INET,
        .ifa_prefixlen = 32,
        .ifa_scope = RT_SCOPE_HOST,
        .ifa_index = LOOPBACK_INDEX,
    };
    const uint32_t own = htonl(LINK_JAIL_ADDRESS);
    add_request(requests, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
    add_attribute(requests, IFA_LOCAL, &own, sizeof(own));
    add_attribute(requests, IFA_ADDRESS, &own, sizeof(own));
}

/* 0.0.0.0/0 is local: every packet comes back to the loopback interface. */
static void add_route(struct requests *requests)
{
    const struct rtmsg body = {
        .rtm_family = AF_INET,
        .rtm_table = RT_TABLE_LOCAL,
        .rtm_protocol = RTPROT_BOOT,
        .rtm_scope = RT_SCOPE_HOST,
        .rtm_type = RTN_LOCAL,
    };
    const uint32_t interface = LOOPBACK_INDEX;
    const uint32_t own = htonl(LINK_JAIL_ADDRESS);
    add_request(requests, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
    add_attribute(requests, RTA_OIF, &interface, sizeof(interface));
    add_attribute(requests, RTA_PREFSRC, &own, sizeof(own));
}

struct route_rule {
    uint32_t priority;
    uint8_t action;
    uint32_t source; /* host order */
    uint8_t source_bits;
    uint32_t mark; /* 0: any */
    uint8_t protocol; /* 0: any */
};

/*
 * A closed port answers with a reset, from the address that was asked: only that is lost in the black
 * hole, so that the broker can answer instead. Packets of the broker, of the jail's own addresses and of
 * sockets that have no address yet pass.
 */
static const struct route_rule rules[] = {
    {.priority = 10, .action = FR_ACT_TO_TBL, .mark = LINK_MARK},
    {.priority = 20,
     .action = FR_ACT_TO_TBL,
     .source = INADDR_LOOPBACK & 0xff000000,
     .source_bits = 8},
    {.priority = 21, .action = FR_ACT_TO_TBL, .source = LINK_JAIL_ADDRESS, .source_bits = 32},
    {.priority = 22, .action = FR_ACT_TO_TBL, .source = INADDR_ANY, .source_bits = 32},
    {.priority = 30, .action = FR_ACT_BLACKHOLE, .protocol = IPPROTO_TCP},
    {.priority = 100, .action = FR_ACT_TO_TBL},
};

/* That of the kernel, which comes before all others: ip-rule(8). */
static const struct route_rule first_rule = {.action = FR_ACT_TO_TBL};

static void add_rule(struct requests *requests, uint16_t type, uint16_t flags,
                     const struct route_rule *rule)
{
    const struct fib_rule_hdr body = {
        .family = AF_INET,
        .src_len = rule->source_bits,
        .table = rule->action == FR_ACT_TO_TBL ? RT_TABLE_LOCAL : RT_TABLE_UNSPEC,
        .action = rule->action,
    };
    const uint32_t source = htonl(rule->source);
    const uint32_t whole_mark = UINT32_MAX;
    add_request(requests, type, flags, &body, sizeof(body));
    add_attribute(requests, FRA_PRIORITY, &rule->priority, sizeof(rule->priority));
    if (rule->source_bits > 0)
        add_attribute(requests, FRA_SRC, &source, sizeof(source));
    if (rule->mark != 0) {
        add_attribute(requests, FRA_FWMARK, &rule->mark, sizeof(rule->mark));
        add_attribute(requests, FRA_FWMASK, &whole_mark, sizeof(whole_mark));
    }
    if (rule->protocol != 0)
        add_attribute(requests, FRA_IP_PROTO, &rule->protocol, sizeof(rule->protocol));
}

/* The answer is to the last request, or tells the error of an earlier one. */
static int exchange(int fd, struct requests *requests)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
    struct nlmsgerr error;
    requests->last->nlmsg_flags |= NLM_F_ACK;
    if (send(fd, requests->bytes, requests->length, 0) < 0)
        return -errno;
    ssize_t length = recv(fd, answer, sizeof(answer), 0);
    if (length < 0)
        return -errno;
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer;
    if ((size_t)length < NLMSG_LENGTH(sizeof(error)) || header->nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    memcpy(&error, NLMSG_DATA(header), sizeof(error));
    return error.error;
}

int routes_make(bool *ret_has_rules)
{
    struct requests requests = {.length = 0};
    add_address(&requests);
    add_route(&requests);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        add_rule(&requests, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &rules[i]);
    add_rule(&requests, RTM_DELRULE, 0, &first_rule);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -errno;
    int r = exchange(fd, &requests);
    close(fd);
    /* What comes before the first rule has been done: netlink(7). */
    *ret_has_rules = r != -EOPNOTSUPP;
    return *ret_has_rules ? r : 0;
}
