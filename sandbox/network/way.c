#include "sandbox/network/way.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_SIZE 1024

/* The question for the route of an address. */
struct route_question {
    struct nlmsghdr header;
    struct rtmsg route;
    struct rtattr attribute;
    uint8_t destination[ADDRESS_BITS / 8];
};

static struct route_question question_of(const struct address *address)
{
    bool is_ipv4 = address_is_ipv4(address);
    unsigned offset = is_ipv4 ? ADDRESS_IPV4_AT / 8 : 0;
    size_t size = sizeof(address->bytes) - offset;
    struct route_question question = {
        .header.nlmsg_len = (uint32_t)(offsetof(struct route_question, destination) + size),
        .header.nlmsg_type = RTM_GETROUTE,
        .header.nlmsg_flags = NLM_F_REQUEST,
        .route.rtm_family = is_ipv4 ? AF_INET : AF_INET6,
        .route.rtm_dst_len = (unsigned char)(size * 8),
        .attribute.rta_type = RTA_DST,
        .attribute.rta_len = (unsigned short)RTA_LENGTH(size),
    };
    memcpy(question.destination, address->bytes + offset, size);
    return question;
}

/*
 * The type of the route, RTN_...; a negative errno that the kernel answered with: there is none; -EPROTO: it cannot be
 * found out, also where something refuses the question, whose own EACCES must not be taken for an answer.
 */
static int find_type(const struct address *address)
{
    union {
        struct nlmsghdr header;
        char bytes[ANSWER_SIZE];
    } answer = {0};
    struct rtmsg route;
    struct nlmsgerr error;
    const struct route_question question = question_of(address);
    OWNED_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    /* The kernel answers while send() runs. */
    if (fd < 0 || send(fd, &question, question.header.nlmsg_len, 0) < 0)
        return -EPROTO;
    ssize_t length = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
    if (length < 0)
        return -EPROTO;
    if (answer.header.nlmsg_type == RTM_NEWROUTE && (size_t)length >= NLMSG_SPACE(sizeof(route))) {
        memcpy(&route, NLMSG_DATA(&answer.header), sizeof(route));
        return route.rtm_type;
    }
    if (answer.header.nlmsg_type != NLMSG_ERROR || (size_t)length < NLMSG_SPACE(sizeof(error)))
        return -EPROTO;
    memcpy(&error, NLMSG_DATA(&answer.header), sizeof(error));
    return error.error < 0 ? error.error : -EPROTO;
}

bool way_stays_here(const struct address *address)
{
    int type = find_type(address);
    bool leads_nowhere = type == -ENETUNREACH || type == -EHOSTUNREACH || type == -EACCES;
    return type != RTN_UNICAST && !leads_nowhere;
}
