/*
 * Where core dumps of a jail would go. With RLIMIT_CORE at 1 the kernel gives none to a program or a
 * socket that core_pattern names; at 0 it does, and a hard limit of 0 is not to be raised.
 *
 * Side: parent.  Source: core(5); fs/coredump.c.
 */
#ifndef SANDBOX_JAIL_CORE_PATTERN_H
#define SANDBOX_JAIL_CORE_PATTERN_H

#include "sandbox/base/fault.h"

#include <sys/resource.h>

/* 0; -EPERM with a fault where a crash inside would reach a program outside. */
int core_pattern_check(struct fault *fault);

/* The same of a hard limit and the text of the file core_pattern, for tests; NULL: not readable. */
int core_pattern_check_text(rlim_t hard, const char *text, struct fault *fault);

#endif
