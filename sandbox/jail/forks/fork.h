/*
 * Makes sandboxes by forks of a template: sandbox/jail/child/fork_server.h.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FORKS_FORK_H
#define SANDBOX_JAIL_FORKS_FORK_H

#include "sandbox/jail/sandbox.h"

struct template_end {
    int fd;     /* requests_fd of its sandbox */
    int pidfd;  /* of the init of its jail */
    pid_t init; /* the same */
};

/*
 * As sandbox_spawn(), by a template, which must be ready. Waits up to FORK_MAX_MS for the fork. If that fails, the
 * template is of no more use.
 */
int sandbox_fork(const struct template_end *template, const struct jail_plan *plan,
                 const struct id_map *map, int cgroup_fd, struct sandbox *ret_sandbox,
                 struct fault *fault);

#endif
