/*
 * The jail, from inside: the half of a run that happens after clone3.
 *
 * Side: child. System calls only: no allocation, no stdio, no locale, no libseccomp, no libcap. The
 * address space is a copy of the parent's, and any lock that the parent held stays locked here for
 * ever. `make lint` compares the symbols this library needs with allowed-symbols.
 */
#ifndef SANDBOX_JAIL_CHILD_JAIL_H
#define SANDBOX_JAIL_CHILD_JAIL_H

#include "sandbox/jail/child/jail_plan.h"

/* Builds the jail step by step, waits for the code, runs the program and reports its end. */
void jail_main(const struct jail_plan *plan) __attribute__((noreturn));

/* In a program that has joined a jail (join.h), with a plan of JAIL_JOINED: makes it the jail's. */
void jail_join(const struct jail_plan *plan) __attribute__((noreturn));

#endif
