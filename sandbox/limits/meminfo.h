/*
 * How much memory the machine has left.
 *
 * Side: parent.  Source: proc_meminfo(5).
 */
#ifndef SANDBOX_LIMITS_MEMINFO_H
#define SANDBOX_LIMITS_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>

struct meminfo {
    bool is_low;              /* less than an eighth is available: no time for luxuries */
    bool is_nearly_exhausted; /* less than a twentieth and MACHINE_MEMORY_RESERVE: runs give way */
    uint64_t shared_bytes; /* in files of every tmpfs, and in shared anonymous mappings */
};

/* All zeros if the kernel does not say. */
struct meminfo meminfo_read(void);

/* The same of the text of /proc/meminfo, for tests. */
void meminfo_parse(const char *text, struct meminfo *ret_memory);

/* "Name:   123 kB" in such a file, and in those of processes, in bytes; 0 if it is not there. */
uint64_t meminfo_line_bytes(const char *text, const char *name);

#endif
