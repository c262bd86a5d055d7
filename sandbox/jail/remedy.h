/*
 * Why this host refuses a step of a jail, and what would change that.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_REMEDY_H
#define SANDBOX_JAIL_REMEDY_H

#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/host_facts.h"

/* EINVAL of pivot_root(2). */
#define PIVOT_HELP                                                                                 \
    "this machine still has its initial RAM disk as its root, which cannot be left that way: "     \
    "boot it into another, see switch_root(8)"

/* EAGAIN of fork(2) and similar calls. */
#define PROCESSES_HELP "the limit of processes is reached; see `ulimit -u`"

/* Besides the steps: clone3(2) itself, which precedes them, and what happens before. */
#define STEP_CLONE STEP_COUNT
#define STEP_BEFORE (STEP_COUNT + 1)

#define REMEDY_TEXT_MAX 512

struct remedy {
    char cause[REMEDY_TEXT_MAX]; /* a clause: "a seccomp filter of this container hides clone3" */
    char action[REMEDY_TEXT_MAX]; /* for this host; a command if it is one; "": none is known */
};

/*
 * Finds the cause of a step's errno on a host with these facts. False: the host does not seem to be the
 * cause, and both texts are "".
 */
bool remedy_find(unsigned step, int error, const struct host_facts *facts,
                 struct remedy *ret_remedy);

struct remedy_clause {
    char text[2 * REMEDY_TEXT_MAX + 16];
};

/* The same for this host, as the end of a sentence: "; CAUSE: ACTION"; "" if it is not the cause. */
struct remedy_clause remedy_clause(unsigned step, int error);

#endif
