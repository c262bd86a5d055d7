/*
 * Tests that are nothing without a jail: on a host that refuses them, as a container does, their program skips them all.
 *
 * Side: parent.
 */
#ifndef TESTS_UNIT_NEEDS_JAILS_H
#define TESTS_UNIT_NEEDS_JAILS_H

#include "sandbox/host_probe.h"

#include <stdio.h>

/* Whether there are jails of the strongest tier. If not, says so: https://testanything.org/tap-specification.html, "Skipping everything". */
static inline bool has_jails(void)
{
    struct host_finding host;
    struct fault fault = {0};
    bool has = host_probe(TIER_F, &host, &fault) == 0 && host.can_jail;
    if (!has)
        puts("1..0 # SKIP this host refuses sandboxes");
    return has;
}

#endif
