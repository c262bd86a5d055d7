/*
 * How the fork of a template becomes the program of a jail: it joins the namespaces that the jail's init has made.
 *
 * server ── fork_request ──> init of the template ── clone ──> init of a jail: steps.def
 *                                                                  │ join_request
 *                                                                  v
 *                            interpreter (the template) ── fork ──> program, a child of the jail's init
 *
 * So the interpreter, which is the image's, needs no namespace, mount or capability of its own to be allowed: it enters
 * what is there. The init of the jail is ours, and trusts nothing that it hears from the program but its pid, which
 * the kernel vouches for.
 *
 * Side: child.  Source: setns(2), pid_namespaces(7), unix(7).
 */
#ifndef SANDBOX_JAIL_CHILD_JOIN_H
#define SANDBOX_JAIL_CHILD_JOIN_H

#include "sandbox/jail/child/steps.h"

#include <stdint.h>

#define JOIN_NAMESPACES_COUNT 7
#define JOIN_FDS_MAX (JOIN_NAMESPACES_COUNT + 6)

/* A record to the template (SOCK_SEQPACKET), with descriptors. The numbers are places among these; -1: there is none. */
struct join_request {
    uint64_t plan_size;
    int32_t fd_count;
    int32_t plan; /* sealed memory: struct jail_plan and what it points to, for FORK_PLAN_ADDRESS */
    int32_t
        control; /* SOCK_SEQPACKET: reports of the program to init, and init's word that it may begin */
    int32_t in, out, err; /* err is out where they are joined */
    int32_t last_pid; /* ns_last_pid, by which the program's pid is chosen: proc_sys_kernel(5) */
    int32_t namespaces[JOIN_NAMESPACES_COUNT]; /* in the order in which they are joined */
};

/*
 * The newest pid, as the kernel is told, before the program is born, which so has 2 like one that init has started; and
 * before that, so that the helper of the fork does not have 2.
 */
#define JOIN_LAST_PID "1"
#define JOIN_HELPER_LAST_PID "99"

/* How long the template may take: before a run that waits for it starts elsewhere: SETUP_WARM_MAX_MS. */
#define JOIN_MAX_MS 2000

/* In init, after all its own steps: lets the program begin that step_join() has asked for. 0 or a negative errno. */
int join_start_program(struct jail *jail);

#endif
