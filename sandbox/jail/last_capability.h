/*
 * The highest number of a capability that the kernel knows.
 *
 * By libcap; last_capability_none.c is for programs that are linked without it. Side: parent.
 * Source: cap_max_bits(3), PR_CAPBSET_READ(2const).
 */
#ifndef SANDBOX_JAIL_LAST_CAPABILITY_H
#define SANDBOX_JAIL_LAST_CAPABILITY_H

int last_capability(void);

#endif
