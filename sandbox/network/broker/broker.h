/*
 * The broker and its jails: what its modules share.
 *
 * server ── control ──> broker: the policy, then a link for each jail
 * jail   ── link ─────> broker: its sockets, once, before any snippet runs in it
 * server ── link ─────> broker: asks for the record; closes it when the jail has ended
 *
 * Every IPv4 address is local in a jail. Its connections therefore reach nobody, but a raw socket shows
 * the broker each SYN. The broker decides, connects outside and, once that has succeeded, makes a
 * listening socket of the jail's namespace and sends the same SYN again, with a mark that the listener
 * requires: the kernel of the jail completes the handshake with its client. What the listener accepts
 * is relayed.
 *
 * Side: the broker, which trusts nothing that a snippet or the network sends.
 */
#ifndef SANDBOX_NETWORK_BROKER_BROKER_H
#define SANDBOX_NETWORK_BROKER_BROKER_H

#include "sandbox/base/loop.h"
#include "sandbox/network/broker/broker_limits.h"
#include "sandbox/network/broker/name_table.h"
#include "sandbox/network/broker/resolver.h"
#include "sandbox/network/policy.h"
#include "sandbox/network/record.h"

#include <netinet/in.h>

#define PORT_DNS 53
#define PORT_HTTP 80
#define PORT_HTTPS 443

/* Connections to the outside that were made in the minute of that number. */
struct made {
    int64_t minute;
    size_t count;
};

struct broker {
    struct loop loop;
    struct policy policy;
    struct loop_watch control;
    struct broker_jail *jails;
    size_t stream_count;
    struct made made;
    size_t stream_max; /* at most STREAMS_MAX: what the limit of descriptors allows */
    int spare_fd; /* to be closed when a client must be accepted to be refused: see listener.c */
    char *relay_bytes; /* owned: RELAY_BYTES_MAX, for all streams */
};

struct broker_jail {
    struct broker *broker;
    struct broker_jail *previous, *next;
    struct loop
        loop; /* of all but the link: however busy a jail is, it takes turns with the others */
    struct loop_watch link; /* owns its descriptor */
    struct loop_watch dns; /* the same: a UDP socket at port 53 of every address */
    struct loop_watch syn; /* the same: a raw socket that receives SYNs */
    struct loop_watch ping; /* the same: a raw socket that receives echo requests */
    bool is_plain; /* without routing rules: only ports that have a listener ahead are reached */
    int factory_fd; /* listens; with the next one it makes sockets of the jail's namespace */
    int connector_fd;
    struct sockaddr_in factory;
    struct name_table names;
    struct resolver *resolver; /* NULL: nothing was asked yet; see jail_resolver() */
    struct question *other_questions; /* of other types than addresses */
    size_t question_count;
    size_t asked_count; /* of DNS servers, since it began */
    struct dns_stream *dns_streams;
    size_t dns_stream_count;
    struct dial *dials;
    size_t dial_count;
    size_t late_count; /* of those, the clients that have not come soon */
    struct ping *pings;
    size_t ping_count;
    struct listener *listeners; /* the one used last is first */
    size_t listener_count;
    struct relay_stream *streams;
    size_t stream_count;
    struct made made;
    size_t kept_bytes;
    uint64_t moved_bytes;
    struct network_record record;
};

/* jail.c: starts a jail on its link, which it takes over. */
int jail_start(struct broker *broker, int link_fd);
void jail_free(struct broker_jail *jail);
/*
 * Its own, made when it is first asked: c-ares gives up a connection for all questions that are under way,
 * those of others included. NULL: there is no memory.
 */
struct resolver *jail_resolver(struct broker_jail *jail);

/* dns.c */
void dns_ready(struct loop_watch *watch, uint32_t events);
/* A message of a client of TCP. False: it is no question, and gets no answer. */
bool dns_take(struct broker_jail *jail, struct dns_stream *stream, const uint8_t *bytes,
              size_t length);
/* The client of the question has gone. */
void dns_forget_stream(struct question *question);
void dns_release(struct broker_jail *jail);

/* dns_stream.c: clients of DNS over TCP. Takes over the socket. */
void dns_stream_start(struct broker_jail *jail, int client_fd);
/* The question will be answered later; NULL: it is gone. */
void dns_stream_expect(struct dns_stream *stream, struct question *question);
void dns_stream_answer(struct dns_stream *stream, const uint8_t *bytes, size_t length);
void dns_stream_release(struct broker_jail *jail);

/* ping.c: echo requests, and the same outside. */
void ping_ready(struct loop_watch *watch, uint32_t events);
void ping_release(struct broker_jail *jail);

/* dial.c: SYNs, and connections to the outside. */
void syn_ready(struct loop_watch *watch, uint32_t events);
void dial_release(struct broker_jail *jail);
/* A listener has accepted the client. */
void dial_admit(struct broker_jail *jail, int client_fd, const struct sockaddr_in *client,
                const struct sockaddr_in *destination);

/*
 * listener.c: a listener for the destination of a dial. 0; -EADDRINUSE: the jail itself listens there;
 * another negative errno. Listeners that wait for a client are kept.
 */
int listener_get(struct broker_jail *jail, uint32_t ipv4, uint16_t port,
                 struct listener **ret_listener);
/* In a plain jail: listeners at all addresses, for the ports that rules name and the usual ones. */
void listener_open_ahead(struct broker_jail *jail);
/* Whether there is one that a client of this port may reach. */
bool listener_is_ahead(const struct broker_jail *jail, uint16_t port);
void listener_expect(struct listener *listener, int clients);
void listener_release(struct broker_jail *jail);

/* relay.c */
struct relay_name {
    char host[HOST_NAME_SIZE]; /* for the record */
    uint16_t port;
    bool is_gated; /* gate.h */
};

/* Takes over both sockets. */
void relay_start(struct broker_jail *jail, int inner_fd, int outer_fd,
                 const struct relay_name *name);
/* Adds the bytes moved since the last call to the record. */
void relay_account(struct broker_jail *jail);
/* Resets all streams. */
void relay_release(struct broker_jail *jail);

#endif
