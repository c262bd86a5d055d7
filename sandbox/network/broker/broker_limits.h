/*
 * The bounds of the network.
 *
 * Side: the broker.
 */
#ifndef SANDBOX_NETWORK_BROKER_BROKER_LIMITS_H
#define SANDBOX_NETWORK_BROKER_BROKER_LIMITS_H

/* Of one jail. */
#define JAIL_STREAMS_MAX 256     /* open at once */
/* Of these the kernel tunes the queues, to megabytes, which count for nobody; others have such queues outside. */
#define JAIL_TUNED_STREAMS_MAX 8
#define QUEUE_BYTES (128 << 10) /* the kernel takes twice as much: socket(7), SO_RCVBUF */
#define JAIL_DIALS_MAX 64 /* connections that are being made */
#define JAIL_LISTENERS_MAX 64 /* kept for addresses that were reached */
#define JAIL_QUESTIONS_MAX 128 /* of DNS, without an answer yet: a name is often asked for twice */
#define JAIL_ASKED_MAX 65536 /* questions that DNS servers are asked */
#define JAIL_NAMES_MAX 4096
#define JAIL_PINGS_MAX 16 /* hosts that are pinged at once */
#define JAIL_DNS_STREAMS_MAX 16 /* of DNS over TCP */
#define JAIL_KEPT_BYTES_MAX (4 << 20) /* received from one side, not yet taken by the other */

/* Of all jails; a quarter of the descriptors, if that is less. One has no more than are free. */
#define STREAMS_MAX 4096
/* Connections made in a minute: of the 28232 ports they come from, each may be in use for a minute more (TIME_WAIT). */
#define MADE_MAX 12288
#define NAME_ADDRESSES_MAX 16 /* of one name */
#define NAME_ALIASES_MAX 16 /* of one name: what its CNAME records lead to */
#define NAME_TTL_MAX_S 60 /* how long a name is remembered without asking again */
#define DNS_STREAM_MAX_MS 10000 /* without a question, or in the middle of one */
#define PING_IDLE_MS 10000 /* without a request to that host */
#define DIAL_YIELD_MS 1000 /* after which one makes room for another: its client asks again */
#define DIAL_MAX_MS 15000
#define ADMIT_SOON_MS 30 /* in which a client usually completes its handshake */
#define ADMIT_MAX_MS 2000 /* and afterwards */
#define HALF_CLOSED_MAX_MS 60000 /* a stream of which one side has ended */
#define FIRST_BYTES_MAX_MS                                                                         \
    30000 /* from the first byte of a client to the end of its hello or head */
#define FIRST_BYTES_SIZE                                                                           \
    (32 << 10) /* of such a hello or head; what servers take of a head, or less */
#define RELAY_BYTES_MAX (256 << 10) /* moved at a time, and kept for one direction */

#endif
