/*
 * The weakest tier that this user can have here: of root, C; of others, L; of root in a user namespace, none but P.
 *
 * Side: parent.
 */
#ifndef TESTS_UNIT_WEAKEST_TIER_H
#define TESTS_UNIT_WEAKEST_TIER_H

#include "sandbox/base/tier.h"

#include <stdio.h>
#include <unistd.h>

static inline enum tier weakest_tier(void)
{
    unsigned inside = 1, outside = 1, count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    int found = map != NULL ? fscanf(map, "%u %u %u", &inside, &outside, &count) : 0;
    if (map != NULL)
        fclose(map);
    bool is_all = found == 3 && inside == 0 && outside == 0 && count > 1;
    return geteuid() != 0 ? TIER_L : is_all ? TIER_C : TIER_P;
}

#endif
