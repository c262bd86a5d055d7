/*
 * The plan of a jail as bytes, with all its pointers right for one place in another process's memory.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FORKS_FORK_PLAN_H
#define SANDBOX_JAIL_FORKS_FORK_PLAN_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/child/jail_plan.h"

#include <stdint.h>

#define FORK_PLAN_SIZE_MAX (256 << 10)

/*
 * Appends the plan, as it is to lie at `address`, to the empty buffer. Left out is what only a child of the server needs:
 * folders, layers, shown files, programs, arguments and the environment. Descriptors stay what they are. 0, or
 * -ENOBUFS or -ENOMEM.
 */
int fork_plan_write(const struct jail_plan *plan, uintptr_t address, struct buffer *bytes);

#endif
