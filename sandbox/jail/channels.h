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
    int requests[2]; /* of a template: parent's, init's */
    int template; /* the same: init's copy of the parent's end of session.channel */
    int cgroup; /* of a fork: cgroup.procs */
    struct session_channels session;
    int root_tree;
    int *keep; /* owned: the descriptors that the child keeps, ascending */
};

#define CHANNELS_NONE                                                                              \
    ((struct channels){.control = {-1, -1},                                                        \
                       .in = {-1, -1},                                                             \
                       .out = {-1, -1},                                                            \
                       .err = {-1, -1},                                                            \
                       .files = {-1, -1},                                                          \
                       .code = -1,                                                                 \
                       .requests = {-1, -1},                                                       \
                       .template = -1,                                                             \
                       .cgroup = -1,                                                               \
                       .session = SESSION_CHANNELS_NONE,                                           \
                       .root_tree = -1})

/*
 * A pipe to a program, which owns it. `own` is the end that stays with the parent, and does not block: 0 to read, 1 to
 * write. 0, or a negative errno: the caller closes what is there.
 */
int channels_make_pipe(int pair[2], int own, const struct id_map *map);

/* Makes those that the plan needs; not root_tree. 0, or a negative errno with its fault. */
int channels_open(struct channels *channels, const struct jail_plan *plan, const struct id_map *map,
                  struct fault *fault);

/* Names the child's ends in the plan, which borrows channels->keep. 0 or -ENOMEM. */
int channels_plan(struct channels *channels, struct jail_plan *plan);

void channels_close(struct channels *channels);

#endif
