/*
 * Makes sandboxes by forks of a template: sandbox/jail/child/fork_server.h.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FORKS_FORK_H
#define SANDBOX_JAIL_FORKS_FORK_H

#include "sandbox/jail/sandbox.h"

/*
 * As sandbox_spawn(), by the template at the other end of the socket, which must be ready. Waits up to
 * FORK_MAX_MS for the fork. If that fails, the template is of no more use.
 */
int sandbox_fork(int template_fd, const struct jail_plan *plan, const struct id_map *map,
                 int cgroup_fd, struct sandbox *ret_sandbox, struct fault *fault);

#endif
