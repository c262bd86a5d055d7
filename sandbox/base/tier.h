/*
 * How strong the walls are that a host lets be made, by the operator's leave: from the strongest to the
 * weakest. Each host allows F and P, and one of the others: C for root, L for everyone else.
 *
 * Side: parent.
 */
#ifndef SANDBOX_BASE_TIER_H
#define SANDBOX_BASE_TIER_H

enum tier {
    TIER_F, /* all walls */
    TIER_P, /* the same, but /proc is a directory of copies: where the host refuses a new one */
    TIER_C, /* no namespaces: a root directory and a user of its own; for root in a container */
    TIER_L, /* neither: Landlock and the filter alone, for an ordinary user */
    TIER_COUNT,
};

/* The walls around a run. */
#define ISOLATION_NAMESPACES "namespaces+seccomp"
#define ISOLATION_NAMESPACES_AND_PATHS "namespaces+seccomp+landlock"
#define ISOLATION_CHROOT "chroot+uid+seccomp"
#define ISOLATION_CHROOT_AND_PATHS "chroot+uid+seccomp+landlock"
#define ISOLATION_HOST "seccomp+landlock"

/* "F", "P" ...: static. */
static inline const char *tier_name(enum tier tier)
{
    static const char *const names[TIER_COUNT] = {
        [TIER_F] = "F", [TIER_P] = "P", [TIER_C] = "C", [TIER_L] = "L"};
    return names[tier];
}

#endif
