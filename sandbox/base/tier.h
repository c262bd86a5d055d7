/*
 * How strong the walls are that a host lets be made, by the operator's leave.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_TIER_H
#define SANDBOX_BASE_TIER_H

enum tier {
    TIER_F, /* all walls */
    TIER_P, /* the same, but /proc is a directory of copies: where the host refuses a new one */
    TIER_COUNT,
};

/* "F", "P": static. */
static inline const char *tier_name(enum tier tier)
{
    return tier == TIER_P ? "P" : "F";
}

#endif
