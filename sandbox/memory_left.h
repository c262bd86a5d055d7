/*
 * Whether the machine has memory left for what could as well be done without.
 *
 * Side: parent.  Source: proc_meminfo(5).
 */
#ifndef SANDBOX_MEMORY_LEFT_H
#define SANDBOX_MEMORY_LEFT_H

#include <stdbool.h>

/* Less than an eighth of it is available, as far as the kernel tells. */
bool memory_is_short(void);

/* The same of the text of /proc/meminfo, for tests. */
bool memory_is_short_by(const char *meminfo);

#endif
