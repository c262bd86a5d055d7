/*
 * The plan of a jail as bytes: for another process, with all its pointers right for one place in its memory; and, with
 * pointers from 0, for a comparison.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_PLAN_PACK_H
#define SANDBOX_JAIL_PLAN_PACK_H

#include "sandbox/base/buffer.h"
#include "sandbox/jail/child/jail_plan.h"

#include <stdint.h>

#define PLAN_PACK_MAX (256 << 10)

/*
 * Appends the plan, as it is to lie at `address`, to the empty buffer: the struct, then all that it points to. Descriptors
 * stay what they are; members of one process or run are zero. Files without bytes stay so. 0, or -ENOBUFS or -ENOMEM.
 */
int plan_pack(const struct jail_plan *plan, uintptr_t address, struct buffer *bytes);

/* The same for plan_is_same(): without descriptors, and without the bytes of files. */
int plan_pack_key(const struct jail_plan *plan, struct buffer *bytes);

#endif
