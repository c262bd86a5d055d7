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
    bool is_low;              /* less than an eighth is available: stop prewarming */
    bool is_nearly_exhausted; /* less than a twentieth and MACHINE_MEMORY_RESERVE: kill runs */
    uint64_t shared_bytes; /* in files of every tmpfs, and in shared anonymous mappings */
    uint64_t
        kernel_bytes; /* in use, but neither by programs, nor for files, nor reclaimable: slabs, stacks, pipes ... */
};

/* All zeros if the file cannot be read. */
struct meminfo meminfo_read(void);

/* Parses the text of /proc/meminfo; for tests. */
void meminfo_parse(const char *text, struct meminfo *ret_memory);

/*
 * The value of a line "Name:   123 kB" in such a file, or in one of a process, in bytes; 0 if
 * absent.
 */
uint64_t meminfo_line_bytes(const char *text, const char *name);

#endif
