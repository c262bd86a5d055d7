/*
 * Whether the machine has memory left for what could as well be done without.
 *
 * Side: parent.  Source: proc_meminfo(5).
 */
#ifndef SANDBOX_LIMITS_MEMINFO_H
#define SANDBOX_LIMITS_MEMINFO_H

#include <stdbool.h>

/* Less than an eighth of it is available, as far as the kernel tells. */
bool meminfo_is_low(void);

/* The same of the text of /proc/meminfo, for tests. */
bool meminfo_parse_is_low(const char *meminfo);

#endif
