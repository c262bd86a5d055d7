/*
 * How much memory the machine has left.
 *
 * Side: parent.  Source: proc_meminfo(5).
 */
#ifndef SANDBOX_LIMITS_MEMINFO_H
#define SANDBOX_LIMITS_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>

/* Less than an eighth is available: no time for luxuries. False if the kernel does not say. */
bool meminfo_is_low(void);

/* Less than a twentieth and MACHINE_MEMORY_RESERVE are available: runs have to give way. */
bool meminfo_is_nearly_exhausted(void);

/* The same of the text of /proc/meminfo, for tests. */
bool meminfo_parse_is_low(const char *meminfo);
bool meminfo_parse_is_nearly_exhausted(const char *meminfo);

/* "Name:   123 kB" in such a file, and in those of processes, in bytes; 0 if it is not there. */
uint64_t meminfo_line_bytes(const char *text, const char *name);

#endif
