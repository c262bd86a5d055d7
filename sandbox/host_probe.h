/*
 * Tries whether this host lets a jail be made, without an image: performs every step of one on an empty
 * directory, up to the start of a program that cannot be executed.
 *
 * Side: parent.
 */
#ifndef SANDBOX_HOST_PROBE_H
#define SANDBOX_HOST_PROBE_H

#include "sandbox/base/fault.h"
#include "sandbox/base/tier.h"
#include "sandbox/jail/remedy.h"

#include <stdbool.h>

struct host_finding {
    bool can_jail;
    enum tier tier; /* of the jails that can be made */
    int landlock; /* its version; 0: none */
    /* Why there is none of TIER_F, unless there is: */
    struct fault fault;   /* the step that failed, in a sentence, with cause and remedy */
    struct remedy remedy; /* those alone; "" if this host is not the cause */
    struct fault weaker_fault; /* why there is none of the weakest tier tried, either; or "" */
};

/*
 * Makes a jail of the strongest tier that the host allows, `weakest` at the least, and removes it again: some 10 ms, at most five seconds. The caller has no threads. 0 with its
 * finding; or a negative errno with its fault: nothing could be tried.
 */
int host_probe(enum tier weakest, struct host_finding *ret_finding, struct fault *fault);

#endif
