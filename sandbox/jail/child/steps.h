/*
 * The steps of the jail, each in the file of its kind; steps.def has their order.
 *
 * A step returns 0 or a negative errno. Before a part of it, or an object of several, it notes that in
 * jail->step and jail->index, so that the report names it. No step warns and goes on.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_STEPS_H
#define SANDBOX_JAIL_CHILD_STEPS_H

#include "sandbox/jail/child/jail_plan.h"

#include <stdint.h>
#include <sys/resource.h>

#define JAIL_SCRATCH_MAX 8

/* Where the code is, of a program that is made ahead; any other one starts when it has its code. */
enum code_state {
    CODE_HANDED_OVER,
    CODE_AWAITED, /* the parent has said nothing yet */
    CODE_WANTED, /* it is there; the program may not have come to where it reads it */
    CODE_BEING_WRITTEN, /* into the FIFO */
};

struct jail {
    const struct jail_plan *plan;
    enum jail_step step;
    int index; /* of the object of the step, or -1 */
    int root_fd; /* detached mounts, until they are attached */
    int proc_fd;
    int scratch_fd;
    int dev_fd;
    int scratch_fds[JAIL_SCRATCH_MAX];
    int paths_fd; /* of the rules of Landlock; -1: there are none */
    pid_t program; /* once there */
    int children_fd; /* readable when a child of init has died */
    enum code_state code;
    int code_fifo; /* what the program reads its code from; -1: not open */
    off_t code_offset; /* of what is written next */
};

#define STEP(id, name, jails, text) int step_##name(struct jail *jail);
#define PART(id, name, text)
#include "sandbox/jail/child/steps.def"
#undef STEP
#undef PART

/* Notes what comes next, before a part of a step or an object of it. */
static inline void jail_note(struct jail *jail, enum jail_step step, int index)
{
    jail->step = step;
    jail->index = index;
}

/* mounts.c: what the process sees of files. */
/*
 * A place in the new root, which is not the root yet: what links of the image mean in it is looked up as
 * if it were. O_PATH and flags of open(2). A descriptor, or a negative errno.
 */
int jail_open_inside(const struct jail *jail, const char *path, uint64_t flags);

/* Reaps until the program ends or the parent says so; kills the rest, reports, and exits. */
void init_main(struct jail *jail) __attribute__((noreturn));

#endif
