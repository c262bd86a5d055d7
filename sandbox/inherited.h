/*
 * What this process has from its parent, and its children would have from it.
 *
 * Side: parent.
 */
#ifndef SANDBOX_INHERITED_H
#define SANDBOX_INHERITED_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/id_map.h"

/* Processors that this process may use; 1 if that cannot be told. */
unsigned inherited_processors(void);

/* Soft limits become as high as the hard ones. */
void inherited_raise_limits(void);

/*
 * Drops privileges and settings that a child would inherit and could not drop itself. 0, or a negative
 * errno with its fault.
 */
int inherited_drop(const struct id_map *map, struct fault *fault);

#endif
