/*
 * Keeps core dumps of a jail away from core_pattern handlers. With RLIMIT_CORE at 1 the kernel
 * passes no dump to a program or socket named in core_pattern; at 0 it does, and a hard limit of 0
 * cannot be raised.
 *
 * Side: parent.  Source: core(5); fs/coredump.c.
 */
#ifndef SANDBOX_JAIL_CORE_PATTERN_H
#define SANDBOX_JAIL_CORE_PATTERN_H

#include "sandbox/base/fault.h"

#include <sys/resource.h>

/* 0; -EPERM with a fault if a crash in the jail would reach a handler outside. */
int core_pattern_check(struct fault *fault);

/* The same for a hard limit and the text of core_pattern (NULL: not readable), for tests. */
int core_pattern_check_text(rlim_t hard, const char *text, struct fault *fault);

#endif
