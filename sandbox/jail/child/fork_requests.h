/*
 * The init of a template makes the jails that its forks join: join.h.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_FORK_REQUESTS_H
#define SANDBOX_JAIL_CHILD_FORK_REQUESTS_H

#include "sandbox/jail/child/steps.h"

#include <stdbool.h>

/*
 * Takes a request of the server (fork_server.h), and makes a jail in the template's, in a process of its own. What keeps it
 * from that is answered. False: the server is gone.
 */
bool fork_requests_take(const struct jail *template);

#endif
