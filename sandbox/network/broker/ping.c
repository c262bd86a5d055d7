/* Passes echo requests on, and the replies back. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/echo.h"
#include "sandbox/network/link.h"
#include "sandbox/network/reach.h"

#include <arpa/inet.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define READS_MAX 16 /* packets taken at a time */
#define PACKET_MAX 2048
#define LOOPBACK_BITS 0xff000000U

/* One host that one program pings. */
struct ping {
    struct broker_jail *jail;
    struct ping *previous, *next;
    struct echo request;    /* the last one */
    struct segment quoted;  /* of the same */
    char host[HOST_NAME_SIZE]; /* for the record */
    struct loop_watch outer;   /* owns its descriptor */
    struct loop_timer idle;
};

static void send_packet(const struct broker_jail *jail, const uint8_t *packet, size_t length,
                        uint32_t destination)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = destination};
    sendto(jail->ping.fd, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to,
           sizeof(to));
}

static void reply(const struct broker_jail *jail, const struct echo *request,
                  const uint8_t *message, size_t length)
{
    uint8_t packet[ECHO_PACKET_MAX];
    send_packet(jail, packet, echo_write_reply(request, message, length, packet), request->source);
}

static void answer_unreachable(const struct broker_jail *jail, const struct segment *quoted,
                               enum unreachable code)
{
    uint8_t packet[SEGMENT_UNREACHABLE_SIZE];
    segment_write_unreachable(quoted, code, packet);
    send_packet(jail, packet, sizeof(packet), quoted->source);
}

static void ping_free(struct ping *ping)
{
    struct broker_jail *jail = ping->jail;
    int fd = ping->outer.fd;
    loop_unwatch(&jail->loop, &ping->outer);
    fd_close(&fd);
    loop_disarm(&jail->loop, &ping->idle);
    LIST_REMOVE(jail->pings, ping);
    jail->ping_count--;
    free(ping);
}

static void on_idle(struct loop_timer *timer)
{
    ping_free(container_of(timer, struct ping, idle));
}

static void count(struct ping *ping, uint64_t received, uint64_t sent)
{
    ping->jail->moved_bytes += received + sent;
    record_add_bytes(&ping->jail->record, ping->host, 0, received, sent);
}

static void on_outer(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct ping *ping = container_of(watch, struct ping, outer);
    uint8_t message[ECHO_MESSAGE_MAX];
    ssize_t length = recv(watch->fd, message, sizeof(message), MSG_DONTWAIT);
    if (length < 0 && errno != EAGAIN)
        answer_unreachable(ping->jail, &ping->quoted, UNREACHABLE_HOST);
    if (length < ECHO_HEADER_SIZE || message[0] != ICMP_ECHOREPLY)
        return;
    count(ping, (uint64_t)length, 0);
    reply(ping->jail, &ping->request, message, (size_t)length);
}

/* The only address that is pinged of a name is the one that was given for it. */
static enum refusal decide(const struct broker_jail *jail, uint32_t destination,
                           char host[HOST_NAME_SIZE], struct address *ret_address)
{
    const struct policy *policy = &jail->broker->policy;
    const struct name *name = name_table_find(&jail->names, destination);
    *ret_address = address_of_ipv4(destination);
    if (name != NULL) {
        snprintf(host, HOST_NAME_SIZE, "%s", name->text);
        const struct policy_verdict verdict = policy_judge_name(policy, name->text);
        if (verdict.refusal != REFUSAL_NONE)
            return verdict.refusal;
        if (name->denied.all)
            return REFUSAL_DENIED;
        if (destination == name->synthetic && name->address_count > 0)
            *ret_address = name->addresses[0];
    } else {
        char text[ADDRESS_TEXT_MAX];
        address_format(ret_address, text);
        snprintf(host, HOST_NAME_SIZE, "%s", text);
    }
    if (jail->moved_bytes >= policy->byte_limit)
        return REFUSAL_LIMIT;
    return reach_judge_address(policy, name != NULL, ret_address, 0).verdict.refusal;
}

/* A socket whose echo requests go to that address alone. Negative: there is no way to it. */
static int open_outer(const struct policy *policy, const char *host, const struct address *address)
{
    struct sockaddr_storage to;
    if (!address_is_ipv4(address) || policy_is_proxied(policy, host, address))
        return -EHOSTUNREACH;
    socklen_t size = address_to_socket(address, 0, &to);
    OWNED_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, size) < 0)
        return -errno;
    return fd_take(&fd);
}

static struct ping *find(const struct broker_jail *jail, const struct echo *echo)
{
    struct ping *ping = jail->pings;
    while (ping != NULL && (ping->request.destination != echo->destination ||
                            ping->request.id != echo->id || ping->request.source != echo->source))
        ping = ping->next;
    return ping;
}

/* NULL: it is answered already, or will never be. */
static struct ping *start(struct broker_jail *jail, const struct echo *echo,
                          const struct segment *quoted)
{
    char host[HOST_NAME_SIZE];
    struct address address;
    enum refusal refusal = decide(jail, echo->destination, host, &address);
    if (refusal != REFUSAL_NONE) {
        record_refuse(&jail->record, host, 0, refusal);
        answer_unreachable(jail, quoted, UNREACHABLE_PROHIBITED);
        return NULL;
    }
    if (jail->ping_count == JAIL_PINGS_MAX)
        return NULL;
    int fd = open_outer(&jail->broker->policy, host, &address);
    struct ping *ping = fd >= 0 ? calloc(1, sizeof(*ping)) : NULL;
    if (ping == NULL) {
        answer_unreachable(jail, quoted, UNREACHABLE_HOST);
        fd_close(&fd);
        return NULL;
    }
    *ping = (struct ping){
        .jail = jail,
        .outer = {.fd = -1, .ready = on_outer},
        .idle = {.fire = on_idle},
    };
    snprintf(ping->host, sizeof(ping->host), "%s", host);
    LIST_PREPEND(jail->pings, ping);
    jail->ping_count++;
    if (loop_watch(&jail->loop, &ping->outer, fd, EPOLLIN) < 0) {
        fd_close(&fd);
        ping_free(ping);
        return NULL;
    }
    record_add_stream(&jail->record, host, 0);
    return ping;
}

static bool is_local(uint32_t destination)
{
    return (ntohl(destination) & LOOPBACK_BITS) == (INADDR_LOOPBACK & LOOPBACK_BITS) ||
           ntohl(destination) == LINK_JAIL_ADDRESS;
}

static void take_request(struct broker_jail *jail, const uint8_t *bytes, const struct echo *echo)
{
    struct segment quoted;
    if (is_local(echo->destination)) {
        reply(jail, echo, echo->message, echo->length);
        return;
    }
    echo_quote(bytes, echo, &quoted);
    struct ping *ping = find(jail, echo);
    if (ping != NULL && jail->moved_bytes >= jail->broker->policy.byte_limit) {
        ping_free(ping);
        ping = NULL;
    }
    if (ping == NULL)
        ping = start(jail, echo, &quoted);
    if (ping == NULL)
        return;
    ping->request = *echo;
    ping->quoted = quoted;
    loop_arm(&jail->loop, &ping->idle, clock_now() + PING_IDLE_MS * NANOSECONDS_PER_MILLISECOND);
    /* The kernel puts an id of the socket into it, and the checksum: icmp(7). */
    if (send(ping->outer.fd, echo->message, echo->length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        answer_unreachable(jail, &quoted, UNREACHABLE_HOST);
    else
        count(ping, 0, echo->length);
}

void ping_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct broker_jail *jail = container_of(watch, struct broker_jail, ping);
    uint8_t bytes[PACKET_MAX];
    struct echo echo;
    for (int i = 0; i < READS_MAX; i++) {
        ssize_t length = recv(watch->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (length < 0)
            return;
        if (echo_read(bytes, (size_t)length, &echo))
            take_request(jail, bytes, &echo);
    }
}

void ping_release(struct broker_jail *jail)
{
    while (jail->pings != NULL)
        ping_free(jail->pings);
}
