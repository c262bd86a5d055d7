#include "sandbox/network/broker/resolver.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/dns_message.h"

/* Version 1.28 recommends new functions, which the version of Debian 12 does not have. */
#define CARES_NO_DEPRECATED
#include <ares.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ASK_MAX_MS 2000
#define TRIES 3
#define CONFIGURATION "/etc/resolv.conf"
#define CHECK_MS 1000 /* between looks at the configuration */

/* A socket of c-ares. */
struct resolver_socket {
    struct resolver *resolver;
    struct resolver_socket *next;
    struct loop_watch watch;
};

struct resolver {
    struct loop *loop;
    ares_channel channel;
    bool is_open;
    struct resolver_socket *sockets;
    struct loop_timer timer;
    bool is_reopening;    /* what is being asked is asked again */
    struct lookup *again; /* a list */
    struct timespec configured; /* the configuration's time of change */
    int64_t checked_at;
};

/* c-ares has its own deadlines. */
static void arm(struct resolver *resolver)
{
    struct timeval wait;
    const struct timeval *next = ares_timeout(resolver->channel, NULL, &wait);
    if (next == NULL)
        loop_disarm(resolver->loop, &resolver->timer);
    else
        loop_arm(resolver->loop, &resolver->timer,
                 clock_now() + next->tv_sec * NANOSECONDS_PER_SECOND +
                     next->tv_usec * INT64_C(1000) + NANOSECONDS_PER_MILLISECOND);
}

static void on_timer(struct loop_timer *timer)
{
    struct resolver *resolver = container_of(timer, struct resolver, timer);
    ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    arm(resolver);
}

static void on_socket(struct loop_watch *watch, uint32_t events)
{
    const struct resolver_socket *socket = container_of(watch, struct resolver_socket, watch);
    struct resolver *resolver = socket->resolver;
    int fd = watch->fd;
    bool readable = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
    ares_process_fd(resolver->channel, readable ? fd : ARES_SOCKET_BAD,
                    (events & EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
    arm(resolver);
}

static void on_state(void *data, ares_socket_t fd, int readable, int writable)
{
    struct resolver *resolver = data;
    struct resolver_socket **place = &resolver->sockets;
    while (*place != NULL && (*place)->watch.fd != fd)
        place = &(*place)->next;
    struct resolver_socket *socket = *place;
    uint32_t events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
    if (events == 0 && socket != NULL) {
        loop_unwatch(resolver->loop, &socket->watch);
        *place = socket->next;
        free(socket);
        return;
    }
    if (socket == NULL && events != 0) {
        socket = calloc(1, sizeof(*socket));
        if (socket == NULL)
            return; /* the question times out */
        *socket = (struct resolver_socket){
            .resolver = resolver,
            .next = resolver->sockets,
            .watch = {.fd = -1, .ready = on_socket},
        };
        resolver->sockets = socket;
    }
    if (socket != NULL)
        loop_watch(resolver->loop, &socket->watch, fd, events);
}

static struct timespec configuration_time(void)
{
    struct stat about;
    return stat(CONFIGURATION, &about) == 0 ? about.st_mtim : (struct timespec){0};
}

static int open_channel(struct resolver *resolver)
{
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = ASK_MAX_MS,
        .tries = TRIES,
        .sock_state_cb = on_state,
        .sock_state_cb_data = resolver,
    };
    /* No domains to search at all: up to version 1.18, ares_getaddrinfo() takes no notice of the flag. */
    int used = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB |
               ARES_OPT_DOMAINS;
#ifdef ARES_OPT_QUERY_CACHE /* since version 1.23; it would tell a jail what another one has asked for */
    options.qcache_max_ttl = 0;
    used |= ARES_OPT_QUERY_CACHE;
#endif
    resolver->configured = configuration_time();
    int r = ares_init_options(&resolver->channel, &options, used);
    resolver->is_open = r == ARES_SUCCESS;
    return resolver->is_open ? 0 : r == ARES_ENOMEM ? -ENOMEM : -EIO;
}

static void close_channel(struct resolver *resolver)
{
    if (resolver->is_open)
        ares_destroy(resolver->channel); /* calls all callbacks and closes all sockets */
    resolver->is_open = false;
    loop_disarm(resolver->loop, &resolver->timer);
}

int resolver_open(struct loop *loop, struct resolver **ret_resolver)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));
    if (resolver == NULL)
        return -ENOMEM;
    resolver->loop = loop;
    resolver->timer.fire = on_timer;
    resolver->checked_at = clock_now();
    int r = ares_library_init(ARES_LIB_INIT_ALL) == 0 ? open_channel(resolver) : -EIO;
    if (r < 0) {
        free(resolver);
        return r;
    }
    *ret_resolver = resolver;
    return 0;
}

void resolver_free(struct resolver *resolver)
{
    if (resolver == NULL)
        return;
    close_channel(resolver);
    ares_library_cleanup();
    free(resolver);
}

static void start_again(struct resolver *resolver);

/*
 * A laptop changes its network, and with it the servers to ask. Questions that have no answer yet are asked of
 * the new ones, or a client whose server is gone would keep the others waiting.
 */
static void follow_configuration(struct resolver *resolver)
{
    int64_t now = clock_now();
    if (now - resolver->checked_at < CHECK_MS * NANOSECONDS_PER_MILLISECOND)
        return;
    resolver->checked_at = now;
    struct timespec changed = configuration_time();
    bool is_same = changed.tv_sec == resolver->configured.tv_sec &&
                   changed.tv_nsec == resolver->configured.tv_nsec;
    if (is_same && resolver->is_open)
        return;
    resolver->is_reopening = true;
    close_channel(resolver);
    resolver->is_reopening = false;
    open_channel(resolver);
    start_again(resolver);
}

static struct lookup *lookup_new(struct resolver *resolver, const char *name, struct lookup **place,
                                 void *data)
{
    if (resolver == NULL)
        return NULL;
    follow_configuration(resolver);
    size_t size = strlen(name) + 1;
    struct lookup *lookup = resolver->is_open ? calloc(1, sizeof(*lookup) + size) : NULL;
    if (lookup == NULL)
        return NULL;
    lookup->resolver = resolver;
    lookup->place = place;
    lookup->data = data;
    memcpy(lookup->name, name, size);
    *place = lookup;
    return lookup;
}

/* Whether the callback is to be called: then the owner knows it no longer. */
static bool take_leave(struct lookup *lookup)
{
    if (lookup->place == NULL)
        return false;
    *lookup->place = NULL;
    return true;
}

void lookup_cancel(struct lookup *lookup)
{
    if (lookup != NULL && take_leave(lookup))
        lookup->place = NULL;
}

/* False: it goes by a name that no host can have, or by too many. */
static bool take_aliases(struct lookup *lookup, const struct ares_addrinfo *found)
{
    for (const struct ares_addrinfo_cname *each = found->cnames; each != NULL; each = each->next) {
        if ((each->alias != NULL && !aliases_add(&lookup->aliases, each->alias)) ||
            (each->name != NULL && !aliases_add(&lookup->aliases, each->name)))
            return false;
    }
    return true;
}

static void count_addresses(struct lookup *lookup, const struct ares_addrinfo *found)
{
    for (const struct ares_addrinfo_node *node = found->nodes; node != NULL; node = node->ai_next)
        lookup->received_count++;
}

static void take_addresses(struct lookup *lookup, const struct ares_addrinfo *found)
{
    lookup->ttl = NAME_TTL_MAX_S;
    for (const struct ares_addrinfo_node *node = found->nodes; node != NULL; node = node->ai_next) {
        struct address address;
        if (lookup->address_count == NAME_ADDRESSES_MAX ||
            !address_from_socket(node->ai_addr, &address))
            continue;
        lookup->addresses[lookup->address_count++] = address;
        if (node->ai_ttl >= 0 && (unsigned)node->ai_ttl < lookup->ttl)
            lookup->ttl = (unsigned)node->ai_ttl;
    }
}

static void start_find(struct lookup *lookup, int family);

/* Whether the channel has been closed only to ask the question of other servers. */
static bool keep_for_later(struct lookup *lookup, int status)
{
    struct resolver *resolver = lookup->resolver;
    if (status != ARES_EDESTRUCTION || !resolver->is_reopening || lookup->place == NULL)
        return false;
    lookup->next = resolver->again;
    resolver->again = lookup;
    return true;
}

static void on_found(void *data, int status, int timeouts, struct ares_addrinfo *found)
{
    (void)timeouts;
    struct lookup *lookup = data;
    if (keep_for_later(lookup, status))
        return;
    if (found != NULL)
        count_addresses(lookup, found);
    if (status == ARES_SUCCESS && found != NULL && take_aliases(lookup, found))
        take_addresses(lookup, found);
    else if (status == ARES_SUCCESS)
        status = ARES_EBADRESP;
    if (found != NULL)
        ares_freeaddrinfo(found);
    bool has_none =
        status == ARES_ENODATA || (status == ARES_SUCCESS && lookup->address_count == 0);
    if (lookup->place != NULL && has_none && !lookup->asked_ipv6) {
        lookup->asked_ipv6 = true;
        start_find(lookup, AF_INET6);
        return;
    }
    enum lookup_status result = lookup->address_count > 0  ? LOOKUP_FOUND
                                : has_none                 ? LOOKUP_NO_DATA
                                : status == ARES_ENOTFOUND ? LOOKUP_NO_NAME
                                                           : LOOKUP_FAILED;
    if (take_leave(lookup))
        lookup->found(lookup, result);
    free(lookup);
}

static void start_find(struct lookup *lookup, int family)
{
    const struct ares_addrinfo_hints hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NOSORT};
    struct resolver *resolver = lookup->resolver;
    ares_getaddrinfo(resolver->channel, lookup->name, NULL, &hints, on_found, lookup);
    /* The callback may have freed the lookup. */
    arm(resolver);
}

int resolver_find(struct resolver *resolver, const char *name, struct lookup **place,
                  void (*found)(struct lookup *lookup, enum lookup_status status), void *data)
{
    struct lookup *lookup = lookup_new(resolver, name, place, data);
    if (lookup == NULL)
        return -ENOMEM;
    lookup->found = found;
    start_find(lookup, AF_INET);
    return 0;
}

static void on_answer(void *data, int status, int timeouts, unsigned char *answer, int length)
{
    (void)timeouts;
    struct lookup *lookup = data;
    if (keep_for_later(lookup, status)) /* an answer without records is one */
        return;
    if (take_leave(lookup))
        lookup->answered(lookup, answer, answer != NULL && length > 0 ? (size_t)length : 0);
    free(lookup);
}

static void start_ask(struct lookup *lookup)
{
    struct resolver *resolver = lookup->resolver;
    ares_query(resolver->channel, lookup->name, DNS_CLASS_IN, lookup->type, on_answer, lookup);
    arm(resolver);
}

/* Without a channel they have failed. A callback may ask for more, but not end the resolver. */
static void start_again(struct resolver *resolver)
{
    while (resolver->again != NULL) {
        struct lookup *lookup = resolver->again;
        resolver->again = lookup->next;
        if (!resolver->is_open && lookup->found != NULL)
            on_found(lookup, ARES_ECONNREFUSED, 0, NULL);
        else if (!resolver->is_open)
            on_answer(lookup, ARES_ECONNREFUSED, 0, NULL, 0);
        else if (lookup->found != NULL)
            start_find(lookup, lookup->asked_ipv6 ? AF_INET6 : AF_INET);
        else
            start_ask(lookup);
    }
}

int resolver_ask(struct resolver *resolver, const char *name, int type, struct lookup **place,
                 void (*answered)(struct lookup *lookup, const uint8_t *answer, size_t length),
                 void *data)
{
    struct lookup *lookup = lookup_new(resolver, name, place, data);
    if (lookup == NULL)
        return -ENOMEM;
    lookup->answered = answered;
    lookup->type = type;
    start_ask(lookup);
    return 0;
}
