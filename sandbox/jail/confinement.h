/*
 * Walls that a helper program of this project puts around itself, before it reads what is not trusted.
 *
 * Side: the helper. Source: capset(2), landlock(7), seccomp(2).
 */
#ifndef SANDBOX_JAIL_CONFINEMENT_H
#define SANDBOX_JAIL_CONFINEMENT_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/filter.h"

#include <stddef.h>
#include <stdint.h>

/* Keeps of its capabilities these, as bits of 1U << CAP_...: all below 32. 0, or a negative errno. */
int confinement_keep_capabilities(uint32_t kept, struct fault *fault);

/*
 * Gives up new privileges and, where the kernel has Landlock, every access to files but to read below
 * these directories, or these files; -1 among them is passed over. 0, or a negative errno with its fault.
 */
int confinement_read_only(const int *fds, size_t count, struct fault *fault);

/* 0, or a negative errno with its fault. */
int confinement_install(const struct filter *filter, struct fault *fault);

#endif
