/*
 * Removes layers that no image uses and no process holds.
 *
 * Side: parent.
 */
#ifndef IMAGES_STORE_LAYER_SWEEP_H
#define IMAGES_STORE_LAYER_SWEEP_H

#include "sandbox/base/fault.h"

#include <stddef.h>
#include <stdint.h>

struct sweep {
    size_t removed;
    uint64_t bytes; /* that they took on disk */
    size_t held;    /* layers that no record names any more, but a run or another command holds */
};

/*
 * Removes layers without a record. 0; or a negative errno: an unreadable record may name any layer,
 * so none is removed then.
 */
int layer_sweep(const char *store, struct sweep *ret_sweep, struct fault *fault);

#endif
