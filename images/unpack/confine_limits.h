/*
 * Resource limits of a confined child.
 *
 * Side: child.  Source: getrlimit(2).
 */
#ifndef IMAGES_UNPACK_CONFINE_LIMITS_H
#define IMAGES_UNPACK_CONFINE_LIMITS_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Lowers them, for good, to those of programs of an image, or of one that reads archives. 0 or a fault. */
int confine_limits_set(bool programs, struct fault *fault);

#endif
