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

/* The version of Landlock from which it guards signals, too: landlock(7). Jails use nothing newer. */
#define LANDLOCK_SCOPES 6

/* "F", "P" ...: static. */
static inline const char *tier_name(enum tier tier)
{
    static const char *const names[TIER_COUNT] = {
        [TIER_F] = "F", [TIER_P] = "P", [TIER_C] = "C", [TIER_L] = "L"};
    return names[tier];
}

/*
 * The walls around a run, with this version of Landlock (0: none; more than LANDLOCK_SCOPES is no different): static. NULL:
 * there is no such sandbox.
 */
static inline const char *isolation_name(enum tier tier, int landlock)
{
#define OF_NAMESPACES "namespaces+seccomp"
#define OF_CHROOT "chroot+uid+seccomp"
#define OF_HOST "seccomp+landlock"
    static const char *const of_chroot[LANDLOCK_SCOPES + 1] = {
        OF_CHROOT,
        NULL,
        OF_CHROOT "+landlock-2",
        OF_CHROOT "+landlock-3",
        OF_CHROOT "+landlock-4",
        OF_CHROOT "+landlock-5",
        OF_CHROOT "+landlock",
    };
    static const char *const of_host[LANDLOCK_SCOPES + 1] = {
        NULL, NULL, NULL, OF_HOST "-3", OF_HOST "-4", OF_HOST "-5", OF_HOST,
    };
    int version = landlock < LANDLOCK_SCOPES ? landlock : LANDLOCK_SCOPES;
    if (tier == TIER_C)
        return of_chroot[version];
    if (tier == TIER_L)
        return of_host[version];
    return landlock > 0 ? OF_NAMESPACES "+landlock" : OF_NAMESPACES;
#undef OF_NAMESPACES
#undef OF_CHROOT
#undef OF_HOST
}

#endif
