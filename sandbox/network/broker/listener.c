/* Makes listeners in the network namespace of a jail, from outside of it. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/sockets.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

#define BACKLOG 128
#define ACCEPTS_MAX 16 /* clients taken at a time */
#define FACTORY_MAX_MS 20

struct listener {
    struct broker_jail *jail;
    struct listener *next;
    struct loop_watch watch; /* owns its descriptor */
    uint32_t ipv4;           /* network order */
    uint16_t port;
    int expected; /* clients that have been let in and not been accepted yet */
};

static int disconnect(int fd)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    return connect(fd, &none, sizeof(none));
}

/*
 * Without a descriptor left a client cannot be accepted, and so not be refused either: it would wait in
 * the queue, where the loop would find it again and again, and where others would find no room.
 */
static void refuse_client(struct broker *broker, int listener_fd)
{
    fd_close(&broker->spare_fd);
    int fd = accept4(listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        socket_reset(fd);
    broker->spare_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* What is left in the factory's queue by an attempt that was given up. */
static void empty_factory(const struct broker_jail *jail)
{
    int fd;
    while ((fd = accept4(jail->factory_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        close(fd);
}

/* The other end of the connector. */
static int accept_made(struct broker_jail *jail)
{
    struct pollfd ready = {.fd = jail->factory_fd, .events = POLLIN};
    int fd = accept4(jail->factory_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && errno == EAGAIN && poll(&ready, 1, FACTORY_MAX_MS) == 1)
        fd = accept4(jail->factory_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        return fd;
    int r = -errno;
    if (r == -EMFILE || r == -ENFILE)
        refuse_client(jail->broker, jail->factory_fd);
    return r;
}

/*
 * A TCP socket of the jail's namespace, unbound, with LINK_MARK and the factory's filter: what connects
 * to the factory and what it accepts can both be disconnected (connect(2), AF_UNSPEC). The kernel makes such
 * a connection while connect() runs, or soon after if it is busy.
 */
static int make_socket(struct broker_jail *jail)
{
    empty_factory(jail);
    const struct sockaddr *factory = (struct sockaddr *)&jail->factory;
    if (connect(jail->connector_fd, factory, sizeof(jail->factory)) < 0 && errno != EINPROGRESS)
        return -errno;
    OWNED_FD int fd = accept_made(jail);
    if (disconnect(jail->connector_fd) < 0 || (fd >= 0 && disconnect(fd) < 0))
        return -errno;
    return fd_take(&fd);
}

static void listener_free(struct listener *listener)
{
    struct broker_jail *jail = listener->jail;
    struct listener **place = &jail->listeners;
    while (*place != listener)
        place = &(*place)->next;
    *place = listener->next;
    jail->listener_count--;
    int fd = listener->watch.fd;
    loop_unwatch(&jail->loop, &listener->watch);
    fd_close(&fd);
    free(listener);
}

static void on_listener(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct listener *listener = container_of(watch, struct listener, watch);
    struct broker_jail *jail = listener->jail;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_in client = {0};
        struct sockaddr_in own = {0};
        socklen_t size = sizeof(client);
        int fd =
            accept4(watch->fd, (struct sockaddr *)&client, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                refuse_client(jail->broker, watch->fd);
            return;
        }
        size = sizeof(own);
        getsockname(fd, (struct sockaddr *)&own, &size);
        dial_admit(jail, fd, &client, &own);
    }
}

/* Closes the one that has been used the longest ago, of those without clients to come. */
static bool make_room(struct broker_jail *jail)
{
    struct listener *oldest = NULL;
    for (struct listener *listener = jail->listeners; listener != NULL; listener = listener->next) {
        if (listener->expected == 0)
            oldest = listener;
    }
    if (oldest != NULL)
        listener_free(oldest);
    return oldest != NULL;
}

static int bind_and_listen(struct listener *listener, int fd)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(listener->port),
        .sin_addr.s_addr = listener->ipv4,
    };
    if (socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return loop_watch(&listener->jail->loop, &listener->watch, fd, EPOLLIN);
}

static int listener_new(struct broker_jail *jail, uint32_t ipv4, uint16_t port)
{
    if (jail->listener_count == JAIL_LISTENERS_MAX && !make_room(jail))
        return -EMFILE;
    OWNED_FD int fd = make_socket(jail);
    if (fd < 0)
        return fd;
    struct listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL)
        return -ENOMEM;
    *listener = (struct listener){
        .jail = jail,
        .watch = {.fd = -1, .ready = on_listener},
        .ipv4 = ipv4,
        .port = port,
    };
    int r = bind_and_listen(listener, fd);
    if (r < 0) {
        free(listener);
        return r;
    }
    fd_take(&fd);
    listener->next = jail->listeners;
    jail->listeners = listener;
    jail->listener_count++;
    return 0;
}

static bool is_for(const struct listener *listener, uint32_t ipv4, uint16_t port)
{
    return listener->port == port && (listener->ipv4 == ipv4 || listener->ipv4 == INADDR_ANY);
}

bool listener_is_ahead(const struct broker_jail *jail, uint16_t port)
{
    const struct listener *listener = jail->listeners;
    while (listener != NULL && (listener->ipv4 != INADDR_ANY || listener->port != port))
        listener = listener->next;
    return listener != NULL;
}

/* It is never closed to make room. */
static void open_ahead(struct broker_jail *jail, uint16_t port)
{
    if (port == 0 || listener_is_ahead(jail, port))
        return;
    if (listener_new(jail, INADDR_ANY, port) == 0)
        listener_expect(jail->listeners, 1);
}

void listener_open_ahead(struct broker_jail *jail)
{
    static const enum rule_list lists[] = {RULES_ALLOW, RULES_MAP};
    const struct policy *policy = &jail->broker->policy;
    open_ahead(jail, PORT_DNS);
    open_ahead(jail, PORT_HTTP);
    open_ahead(jail, PORT_HTTPS);
    for (size_t l = 0; l < ARRAY_LENGTH(lists); l++) {
        for (size_t i = 0; i < policy->rules[lists[l]].count; i++) {
            open_ahead(jail, policy->rules[lists[l]].list[i].ports[0]);
            open_ahead(jail, policy->rules[lists[l]].list[i].ports[1]);
        }
    }
}

int listener_get(struct broker_jail *jail, uint32_t ipv4, uint16_t port,
                 struct listener **ret_listener)
{
    struct listener **place = &jail->listeners;
    while (*place != NULL && !is_for(*place, ipv4, port))
        place = &(*place)->next;
    struct listener *known = *place;
    if (known == NULL) {
        int r = listener_new(jail, ipv4, port);
        if (r < 0)
            return r;
        known = jail->listeners;
    } else {
        *place = known->next;
        known->next = jail->listeners;
        jail->listeners = known;
    }
    *ret_listener = known;
    return 0;
}

void listener_expect(struct listener *listener, int clients)
{
    listener->expected += clients;
}

void listener_release(struct broker_jail *jail)
{
    while (jail->listeners != NULL)
        listener_free(jail->listeners);
}
