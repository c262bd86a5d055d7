/* Holds the SYNs of a jail while their connections to the outside are made. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/gate.h"
#include "sandbox/network/broker/proxy_talk.h"
#include "sandbox/network/broker/segment.h"
#include "sandbox/network/broker/sockets.h"
#include "sandbox/network/reach.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define READS_MAX 64 /* SYNs taken at a time */
#define PACKET_MAX 256

struct dial {
    struct broker_jail *jail;
    struct dial *previous, *next;
    struct segment segment;
    struct relay_name name;
    struct address addresses[NAME_ADDRESSES_MAX]; /* to be tried in this order */
    size_t address_count;
    size_t tried;
    uint16_t port;           /* outside */
    bool is_proxied;         /* the addresses are the proxy's */
    bool has_asked;          /* the proxy for the connection */
    struct lookup *lookup;   /* of the proxy's name; NULL: none */
    size_t seen;             /* bytes of the proxy's answer that did not suffice */
    struct loop_watch outer; /* owns its descriptor, or -1 */
    int outer_fd; /* connected, once the client is being let in; -1 before, and of DNS */
    bool is_dns; /* leads to the broker itself */
    bool is_let_in;
    struct listener *listener;
    bool is_late; /* the client has not come soon after it was let in; it may have gone */
    struct loop_timer deadline;
    int64_t begun_at; /* clock_now() */
};

static void send_packet(const struct broker_jail *jail, const uint8_t *packet, size_t length,
                        uint32_t destination)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = destination};
    sendto(jail->syn.fd, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to,
           sizeof(to));
}

static void answer_refused(const struct broker_jail *jail, const struct segment *segment)
{
    uint8_t packet[SEGMENT_RESET_SIZE];
    segment_write_reset(segment, packet);
    send_packet(jail, packet, sizeof(packet), segment->source);
}

static void answer_unreachable(const struct broker_jail *jail, const struct segment *segment,
                               enum unreachable code)
{
    uint8_t packet[SEGMENT_UNREACHABLE_SIZE];
    segment_write_unreachable(segment, code, packet);
    send_packet(jail, packet, sizeof(packet), segment->source);
}

static void dial_free(struct dial *dial)
{
    struct broker_jail *jail = dial->jail;
    struct loop *loop = &jail->loop;
    int fd = dial->outer.fd;
    loop_unwatch(loop, &dial->outer);
    fd_close(&fd);
    fd_close(&dial->outer_fd);
    lookup_cancel(dial->lookup);
    loop_disarm(loop, &dial->deadline);
    if (dial->listener != NULL)
        listener_expect(dial->listener, -1);
    LIST_REMOVE(jail->dials, dial);
    jail->dial_count--;
    jail->late_count -= dial->is_late;
    free(dial);
}

/* No descriptor is left: nothing is answered, and the client asks again. */
static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE;
}

static size_t made_now(struct made *made)
{
    int64_t minute = clock_now() / (60 * NANOSECONDS_PER_SECOND);
    if (made->minute != minute)
        *made = (struct made){.minute = minute};
    return made->count;
}

static void count_made(struct broker_jail *jail)
{
    jail->made.count = made_now(&jail->made) + 1;
    jail->broker->made.count = made_now(&jail->broker->made) + 1;
}

/* Lets the client in: its SYN reaches the listener this time. */
static void let_in(struct dial *dial)
{
    struct broker_jail *jail = dial->jail;
    struct loop *loop = &jail->loop;
    struct segment *segment = &dial->segment;
    dial->outer_fd = dial->outer.fd;
    dial->is_let_in = true;
    loop_unwatch(loop, &dial->outer);
    if (!dial->is_dns) {
        count_made(jail);
        record_add_stream(&jail->record, dial->name.host, dial->name.port);
    }
    int r = listener_get(jail, segment->destination, segment->destination_port, &dial->listener);
    if (r < 0) {
        /* The program itself listens at this port of every address. */
        if (r == -EADDRINUSE)
            record_refuse(&jail->record, dial->name.host, dial->name.port, REFUSAL_PORT_TAKEN);
        if (!is_shortage(-r))
            answer_refused(jail, segment);
        dial_free(dial);
        return;
    }
    listener_expect(dial->listener, 1);
    loop_arm(loop, &dial->deadline, clock_now() + ADMIT_SOON_MS * NANOSECONDS_PER_MILLISECOND);
    segment_seal(segment);
    send_packet(jail, segment->bytes, segment->length, segment->destination);
}

static void refuse(struct dial *dial, enum refusal refusal)
{
    record_refuse(&dial->jail->record, dial->name.host, dial->name.port, refusal);
    answer_unreachable(dial->jail, &dial->segment, UNREACHABLE_PROHIBITED);
    dial_free(dial);
}

/* Once the proxy has connected, the stream is that of the host. */
static void talk_to_proxy(struct dial *dial)
{
    struct loop *loop = &dial->jail->loop;
    int fd = dial->outer.fd;
    if (!dial->has_asked) {
        const struct proxy *proxy = &dial->jail->broker->policy.proxy;
        dial->has_asked = proxy_ask(fd, proxy, dial->name.host, dial->port) == 0 &&
                          loop_watch(loop, &dial->outer, fd, EPOLLIN) == 0;
        if (!dial->has_asked)
            refuse(dial, REFUSAL_PROXY);
        return;
    }
    switch (proxy_answer(fd, &dial->seen)) {
    case PROXY_INCOMPLETE:
        break;
    case PROXY_CONNECTED:
        let_in(dial);
        break;
    case PROXY_REFUSED:
        refuse(dial, REFUSAL_PROXY);
        break;
    }
}

/* Passes the reason on as the client would have seen it. */
static void give_up(struct dial *dial, int error)
{
    if (dial->is_proxied && !is_shortage(error)) {
        refuse(dial, REFUSAL_PROXY);
        return;
    }
    switch (error) {
    case ECONNREFUSED:
        answer_refused(dial->jail, &dial->segment);
        break;
    case ETIMEDOUT: /* the client has its own deadline */
    case EMFILE:
    case ENFILE:
        break;
    case ENETUNREACH:
        answer_unreachable(dial->jail, &dial->segment, UNREACHABLE_NETWORK);
        break;
    default:
        answer_unreachable(dial->jail, &dial->segment, UNREACHABLE_HOST);
        break;
    }
    dial_free(dial);
}

static int start_connect(struct dial *dial, const struct address *address)
{
    struct sockaddr_storage to;
    uint16_t port = dial->is_proxied ? dial->jail->broker->policy.proxy.port : dial->port;
    socklen_t size = address_to_socket(address, port, &to);
    OWNED_FD int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (dial->jail->stream_count + dial->jail->dial_count > JAIL_TUNED_STREAMS_MAX) {
        socket_set(fd, SOL_SOCKET, SO_RCVBUF, QUEUE_BYTES);
        socket_set(fd, SOL_SOCKET, SO_SNDBUF, QUEUE_BYTES);
    }
    if (connect(fd, (const struct sockaddr *)&to, size) < 0 && errno != EINPROGRESS)
        return -errno;
    if (!dial->is_proxied) /* the host hears of it, whatever becomes of the client */
        record_add_host(&dial->jail->record, dial->name.host, dial->name.port);
    int r = loop_watch(&dial->jail->loop, &dial->outer, fd, EPOLLOUT);
    if (r == 0)
        fd_take(&fd);
    return r;
}

static void try_next(struct dial *dial, int error);

static void on_proxy_found(struct lookup *lookup, enum lookup_status status)
{
    struct dial *dial = lookup->data;
    if (status != LOOKUP_FOUND) {
        refuse(dial, REFUSAL_PROXY);
        return;
    }
    dial->address_count = lookup->address_count;
    memcpy(dial->addresses, lookup->addresses, sizeof(lookup->addresses));
    try_next(dial, EHOSTUNREACH);
}

/* The operator has named the proxy: its address is not judged. */
static void start_proxy(struct dial *dial)
{
    struct broker *broker = dial->jail->broker;
    dial->address_count = 0;
    if (address_parse(broker->policy.proxy.host, &dial->addresses[0])) {
        dial->address_count = 1;
        try_next(dial, EHOSTUNREACH);
    } else if (resolver_find(jail_resolver(dial->jail), broker->policy.proxy.host, &dial->lookup,
                             on_proxy_found, dial) < 0) {
        dial_free(dial);
    }
}

/* Tries the next address. `error` is of the last one. */
static void try_next(struct dial *dial, int error)
{
    while (dial->tried < dial->address_count) {
        int r = start_connect(dial, &dial->addresses[dial->tried++]);
        if (r == 0)
            return;
        error = -r;
    }
    give_up(dial, error);
}

static void on_outer(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct dial *dial = container_of(watch, struct dial, outer);
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) {
        if (dial->is_proxied)
            talk_to_proxy(dial);
        else
            let_in(dial);
        return;
    }
    int fd = watch->fd;
    loop_unwatch(&dial->jail->loop, watch);
    fd_close(&fd);
    try_next(dial, error);
}

static void on_deadline(struct loop_timer *timer)
{
    struct dial *dial = container_of(timer, struct dial, deadline);
    struct broker_jail *jail = dial->jail;
    if (!dial->is_let_in || dial->is_late) {
        dial_free(dial);
        return;
    }
    dial->is_late = true;
    jail->late_count++;
    loop_arm(&jail->loop, timer, clock_now() + ADMIT_MAX_MS * NANOSECONDS_PER_MILLISECOND);
}

/* Frees the oldest of those that were let in and have not come, or of those still waiting for long. */
static void drop_oldest(struct broker_jail *jail, bool late)
{
    int64_t now = clock_now();
    struct dial *oldest = NULL;
    for (struct dial *dial = jail->dials; dial != NULL; dial = dial->next) {
        bool has_waited =
            !dial->is_let_in && now - dial->begun_at > DIAL_YIELD_MS * NANOSECONDS_PER_MILLISECOND;
        if (late ? dial->is_late : has_waited)
            oldest = dial;
    }
    if (oldest != NULL)
        dial_free(oldest);
}

/* The decision takes one for a moment, and without it would be a refusal. */
static bool has_descriptor(void)
{
    OWNED_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0;
}

/* Whether another connection may be begun; makes room, if it can. */
static bool has_room(struct broker_jail *jail)
{
    struct broker *broker = jail->broker;
    if (jail->stream_count + jail->dial_count >= JAIL_STREAMS_MAX)
        drop_oldest(jail, true);
    if (jail->dial_count - jail->late_count >= JAIL_DIALS_MAX)
        drop_oldest(jail, false);
    /* No jail takes more than it leaves to the others. */
    return jail->dial_count - jail->late_count < JAIL_DIALS_MAX &&
           jail->stream_count + jail->dial_count < JAIL_STREAMS_MAX &&
           broker->stream_count + jail->stream_count < broker->stream_max &&
           made_now(&broker->made) + made_now(&jail->made) < MADE_MAX && has_descriptor();
}

/* Adds the address, if it may be dialled. */
static enum refusal add_address(struct dial *dial, const struct address *address, bool by_name)
{
    const struct policy *policy = &dial->jail->broker->policy;
    const struct reach reach = reach_judge_address(policy, by_name, address, dial->port);
    if (reach.verdict.refusal != REFUSAL_NONE)
        return reach.verdict.refusal;
    dial->is_proxied = reach.is_proxied;
    dial->addresses[dial->address_count++] = *address;
    return REFUSAL_NONE;
}

/* A name leads to several addresses only where its own one stands for them. */
static enum refusal add_named(struct dial *dial, const struct name *name)
{
    const struct policy *policy = &dial->jail->broker->policy;
    const struct segment *segment = &dial->segment;
    const struct reach reach = reach_judge_host(policy, name->text, dial->port);
    if (reach.verdict.refusal != REFUSAL_NONE)
        return reach.verdict.refusal;
    if (reach.map != NULL) {
        dial->addresses[dial->address_count++] = reach.map->prefix;
        dial->port = reach.map->to_port;
        return REFUSAL_NONE;
    }
    dial->is_proxied = reach.is_proxied;
    if (dial->is_proxied)
        return REFUSAL_NONE;
    if (policy_ports_have(&name->denied, dial->port))
        return REFUSAL_DENIED;
    if (segment->destination != name->synthetic) {
        const struct address address = address_of_ipv4(segment->destination);
        return add_address(dial, &address, true);
    }
    enum refusal refusal = REFUSAL_NOT_LISTED;
    for (size_t i = 0; i < name->address_count; i++)
        refusal = add_address(dial, &name->addresses[i], true);
    return dial->address_count > 0 ? REFUSAL_NONE : refusal;
}

/* Finds out where the connection leads, and whether it may. */
static enum refusal decide(struct dial *dial)
{
    struct broker_jail *jail = dial->jail;
    const struct address address = address_of_ipv4(dial->segment.destination);
    const struct name *name = name_table_find(&jail->names, dial->segment.destination);
    dial->name.is_gated = gate_is_needed(&jail->broker->policy, name != NULL, dial->port);
    if (name != NULL)
        snprintf(dial->name.host, sizeof(dial->name.host), "%s", name->text);
    else
        address_format(&address, dial->name.host);
    if (dial->port == 0) /* of some port, for those that judge it */
        return REFUSAL_NOT_LISTED;
    dial->is_dns = dial->port == PORT_DNS;
    if (dial->is_dns)
        return REFUSAL_NONE;
    if (jail->moved_bytes >= jail->broker->policy.byte_limit)
        return REFUSAL_LIMIT;
    return name != NULL ? add_named(dial, name) : add_address(dial, &address, false);
}

static bool is_same_connection(const struct dial *dial, const struct segment *segment)
{
    const struct segment *held = &dial->segment;
    return held->source == segment->source && held->source_port == segment->source_port &&
           held->destination == segment->destination &&
           held->destination_port == segment->destination_port;
}

/* Whether the SYN is one that is held already, sent again. An older one of the same ports is dropped. */
static bool is_held(struct broker_jail *jail, const struct segment *segment)
{
    struct dial *dial = jail->dials;
    while (dial != NULL && !is_same_connection(dial, segment))
        dial = dial->next;
    if (dial == NULL)
        return false;
    if (dial->segment.sequence == segment->sequence)
        return true;
    dial_free(dial);
    return false;
}

static void take_syn(struct broker_jail *jail, const struct segment *segment)
{
    if (is_held(jail, segment) || !has_room(jail))
        return; /* it comes again */
    struct dial *dial = calloc(1, sizeof(*dial));
    if (dial == NULL)
        return;
    *dial = (struct dial){
        .jail = jail,
        .segment = *segment,
        .name.port = segment->destination_port,
        .port = segment->destination_port,
        .outer = {.fd = -1, .ready = on_outer},
        .outer_fd = -1,
        .deadline = {.fire = on_deadline},
        .begun_at = clock_now(),
    };
    LIST_PREPEND(jail->dials, dial);
    jail->dial_count++;
    enum refusal refusal = decide(dial);
    if (refusal == REFUSAL_NONE && jail->is_plain &&
        !listener_is_ahead(jail, segment->destination_port))
        refusal = REFUSAL_NOT_LISTED; /* the kernel has refused already */
    if (refusal != REFUSAL_NONE) {
        refuse(dial, refusal);
        return;
    }
    loop_arm(&jail->loop, &dial->deadline, clock_now() + DIAL_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    if (dial->is_dns)
        let_in(dial);
    else if (dial->is_proxied)
        start_proxy(dial);
    else
        try_next(dial, EHOSTUNREACH);
}

void syn_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct broker_jail *jail = container_of(watch, struct broker_jail, syn);
    uint8_t bytes[PACKET_MAX];
    struct segment segment;
    for (int i = 0; i < READS_MAX; i++) {
        ssize_t length = recv(watch->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (length < 0)
            return;
        if (segment_read(bytes, (size_t)length, &segment))
            take_syn(jail, &segment);
    }
}

void dial_admit(struct broker_jail *jail, int client_fd, const struct sockaddr_in *client,
                const struct sockaddr_in *destination)
{
    const struct segment connection = {
        .source = client->sin_addr.s_addr,
        .destination = destination->sin_addr.s_addr,
        .source_port = ntohs(client->sin_port),
        .destination_port = ntohs(destination->sin_port),
    };
    struct dial *dial = jail->dials;
    while (dial != NULL && !is_same_connection(dial, &connection))
        dial = dial->next;
    if (dial == NULL || !dial->is_let_in) { /* nobody was let in */
        socket_reset(client_fd);
        return;
    }
    int outer_fd = fd_take(&dial->outer_fd);
    const struct relay_name name = dial->name;
    bool is_dns = dial->is_dns;
    dial_free(dial);
    if (is_dns)
        dns_stream_start(jail, client_fd);
    else
        relay_start(jail, client_fd, outer_fd, &name);
}

void dial_release(struct broker_jail *jail)
{
    while (jail->dials != NULL)
        dial_free(jail->dials);
}
