/*
 * A sandbox: one jail with its init, from clone3 until its last process is gone.
 *
 * Making a sandbox and feeding it the code are two calls, so that a prewarmed sandbox can wait in
 * between. Side: parent. Source: clone(2), pidfd_open(2), user_namespaces(7).
 */
#ifndef SANDBOX_JAIL_SANDBOX_H
#define SANDBOX_JAIL_SANDBOX_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/id_map.h"
#include "sandbox/jail/parcel.h"
#include "sandbox/jail/session_channels.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

struct sandbox {
    pid_t pid;       /* of init, or of its guard, as the parent sees it; 0: none */
    bool has_guard;  /* without a pid namespace: sandbox/jail/child/guard.c */
    int pidfd;       /* readable once every process of the sandbox is gone */
    int template_pidfd; /* of a fork: of the init of its template, whose end is its own; else -1 */
    int control_fd; /* records of child_report, one each read */
    int stdin_fd; /* write end, non-blocking, of a plan that has one; else -1 */
    int stdout_fd; /* read ends, non-blocking */
    int stderr_fd; /* -1: it is joined with stdout */
    int files_fd; /* for a run: receives descriptors of its directories (run_files.h) */
    /*
     * For a run: memory shared with the child. Once fed, it is sealed; -1 if it holds no file. In a
     * session it is filled again and again.
     */
    int code_fd;
    int requests_fd; /* of a template: fork.h; else -1 */
    struct session_channels session; /* of a session */
};

#define SANDBOX_NONE                                                                               \
    ((struct sandbox){.pidfd = -1,                                                                 \
                      .template_pidfd = -1,                                                        \
                      .control_fd = -1,                                                            \
                      .stdin_fd = -1,                                                              \
                      .stdout_fd = -1,                                                             \
                      .stderr_fd = -1,                                                             \
                      .files_fd = -1,                                                              \
                      .code_fd = -1,                                                               \
                      .requests_fd = -1,                                                           \
                      .session = SESSION_CHANNELS_NONE})

/*
 * Makes the namespaces and starts the child on the plan, in the cgroup of that directory unless
 * `cgroup_fd` is -1. 0, or a negative errno with its fault. Failures in the child arrive later, as
 * records on control_fd. The child has a copy of the plan, so the parent may free its own at any
 * time.
 */
int sandbox_spawn(struct jail_plan *plan, const struct id_map *map, int cgroup_fd,
                  struct sandbox *ret_sandbox, struct fault *fault);

/* Takes over the parent's ends: for what makes a sandbox. */
struct channels;
void sandbox_take_channels(struct sandbox *sandbox, struct channels *channels);

/*
 * Hands over the parcel; once for each sandbox, but in a session each time it is paused, or before it
 * has begun. 0, or a negative errno with its fault.
 */
int sandbox_feed(struct sandbox *sandbox, const struct parcel *parcel, struct fault *fault);

/* The same for a lane of a session, with descriptors: sandbox/jail/child/jail_session.h. The caller still owns them. */
struct lane_feed {
    unsigned lane;
    int *fds;
    size_t fd_count; /* 0: none of its programs is to be started */
};
int sandbox_feed_lane(struct sandbox *sandbox, const struct parcel *parcel,
                      const struct lane_feed *feed, struct fault *fault);

/* Reads one record without waiting. 0; -EAGAIN: none yet; -EPIPE: no more will come. */
int sandbox_read_report(struct sandbox *sandbox, struct child_report *ret_report);

/* Passes a word on to init, without waiting. 0 or a negative errno. */
int sandbox_say(const struct sandbox *sandbox, enum parent_word word);
int sandbox_send(const struct sandbox *sandbox, const struct parent_message *message);

/*
 * Asks init to kill all processes and to report the end, so that all resource usage is counted.
 * Follow up with sandbox_kill() if that takes too long.
 */
void sandbox_stop(struct sandbox *sandbox);

/* Kills all processes: the kernel kills a pid namespace with its init; a guard does the same. Returns at once. */
void sandbox_kill(struct sandbox *sandbox);

/* For a fork that does not end: kills its template, and all forks with it. */
void sandbox_end_template(struct sandbox *sandbox);

/*
 * Waits for init to exit, reaps it, and returns the whole sandbox's resource usage; of a fork of a template, nothing.
 * ret_usage may be NULL.
 */
void sandbox_reap(struct sandbox *sandbox, struct rusage *ret_usage);

/* Kills and reaps any remaining process, and closes all descriptors. */
void sandbox_release(struct sandbox *sandbox);

#endif
