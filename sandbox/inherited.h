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

/*
 * The soft limit of open files becomes as high as the hard one: each run takes several, and the usual one is too low for
 * many runs. Other limits: sandbox/jail/rlimits.h.
 */
void inherited_raise_descriptors(void);

/*
 * Drops privileges and settings that a child would inherit and could not drop itself. 0, or a negative
 * errno with its fault.
 */
int inherited_drop(const struct id_map *map, struct fault *fault);

#endif
