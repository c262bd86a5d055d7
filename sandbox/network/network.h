/*
 * The network of an engine's sandboxes: the broker, and a link to it for each.
 *
 * Side: parent.
 */
#ifndef SANDBOX_NETWORK_NETWORK_H
#define SANDBOX_NETWORK_NETWORK_H

#include "sandbox/base/fault.h"
#include "sandbox/base/tier.h"
#include "sandbox/network/policy.h"
#include "sandbox/network/record.h"

struct network;

/* Whether sandboxes of a tier can have a network. 0, or -EOPNOTSUPP with its fault. */
int network_check_tier(enum tier tier, struct fault *fault);

/* `program`: the path of the broker. Both are borrowed. It starts with the first link. 0 or -ENOMEM. */
int network_new(const struct policy *policy, const char *program, struct network **ret_network,
                struct fault *fault);

/* Ends the broker, and with it all streams. NULL is fine. */
void network_free(struct network *network);

/*
 * Makes the link of a new sandbox, and starts the broker if there is none any more. The caller owns the
 * descriptor: the child inherits it, sends the sockets (link.h) and closes it; then it is the server's.
 * 0, or a negative errno with its fault.
 */
int network_link(struct network *network, int *ret_link_fd, struct fault *fault);

/*
 * Asks for what has happened since the last time; `is_end`: no process of the sandbox is left. The answer
 * is composed while the caller does something else. `number`: another one for each question of a link.
 */
void network_ask(int link_fd, bool is_end, uint32_t number);

/* Waits for the answer to that question, but not long: a record may be lost. */
void network_take(int link_fd, uint32_t number, struct network_record *ret_record);

/* Whether this host lets its user send echo requests: icmp(7), ping_group_range. Asked once. */
bool network_may_ping(void);

/* The process of the broker; 0: none. For tests and doctor. */
int network_broker_pid(const struct network *network);

#endif
