/*
 * A sandbox: one jail with its init, from clone3 to the last of its processes.
 *
 * Making one and giving it its code are two calls, so that one can wait ready in between.
 * Side: parent.  Source: clone(2), pidfd_open(2), user_namespaces(7).
 */
#ifndef SANDBOX_JAIL_SANDBOX_H
#define SANDBOX_JAIL_SANDBOX_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/id_map.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct sandbox {
    pid_t pid;       /* of init, as the parent sees it; 0: none */
    int pidfd;       /* readable once every process of the sandbox is gone */
    int control_fd;  /* records of child_report, one each read */
    int stdout_fd;   /* read ends, non-blocking */
    int stderr_fd;
    int files_fd;    /* of a run: a descriptor of the work directory comes here: run_files.h */
    int code_fd;     /* of a run: memory that the child has too; -1 once the code is in it */
};

#define SANDBOX_NONE                                                                               \
    ((struct sandbox){.pidfd = -1,                                                                 \
                      .control_fd = -1,                                                            \
                      .stdout_fd = -1,                                                             \
                      .stderr_fd = -1,                                                             \
                      .files_fd = -1,                                                              \
                      .code_fd = -1})

/*
 * Makes the namespaces and starts the child on the plan, in the cgroup of that directory unless
 * `cgroup_fd` is -1. 0, or a negative errno with its fault;
 * failures inside come later, as records on control_fd. The plan is needed until the first record
 * REPORT_READY only by the child, which has a copy: the parent may free it any time.
 */
int sandbox_spawn(struct jail_plan *plan, const struct id_map *map, int cgroup_fd,
                  struct sandbox *ret_sandbox, struct fault *fault);

/* Hands over the code; once for each sandbox. 0, or a negative errno with its fault. */
int sandbox_feed(struct sandbox *sandbox, const char *code, size_t length, struct fault *fault);

/* One record, without waiting. 0; -EAGAIN none yet; -EPIPE no more will come. */
int sandbox_read_report(struct sandbox *sandbox, struct child_report *ret_report);

/*
 * Asks init to kill everything and to report its end, so that what all of it used is counted.
 * Follow with sandbox_kill() when that takes too long.
 */
void sandbox_stop(struct sandbox *sandbox);

/* Kills all of it: with its init the kernel ends the pid namespace. Returns at once. */
void sandbox_kill(struct sandbox *sandbox);

/* Reaps init, waiting for its end, and tells what all of the sandbox used; ret_usage may be NULL. */
void sandbox_reap(struct sandbox *sandbox, struct rusage *ret_usage);

/* Kills and reaps what is still there, closes all descriptors. */
void sandbox_release(struct sandbox *sandbox);

#endif
