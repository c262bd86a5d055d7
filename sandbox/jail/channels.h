/*
 * Everything between the server and a sandbox: sockets, pipes and memory, both ends of each.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_CHANNELS_H
#define SANDBOX_JAIL_CHANNELS_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/session_channels.h"

struct channels {
    int control[2]; /* parent's, child's */
    int in[2]; /* read end, write end */
    int out[2];
    int err[2];
    int files[2]; /* parent's, child's */
    int code;
    struct session_channels session;
    int root_tree;
    int *keep; /* owned: the descriptors that the child keeps, ascending */
};

#define CHANNELS_NONE                                                                              \
    ((struct channels){                                                                            \
        {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1, SESSION_CHANNELS_NONE, -1, NULL})

/* Makes those that the plan needs; not root_tree. 0, or a negative errno with its fault. */
int channels_open(struct channels *channels, const struct jail_plan *plan, const struct id_map *map,
                  struct fault *fault);

/* Names the child's ends in the plan, which borrows channels->keep. 0 or -ENOMEM. */
int channels_plan(struct channels *channels, struct jail_plan *plan);

void channels_close(struct channels *channels);

#endif
