#include "sandbox/limits/run_limits.h"

#include "sandbox/limits/limits.h"

#include <sys/sysinfo.h>

/* One run alone must not exhaust the machine. */
static uint64_t default_memory(void)
{
    struct sysinfo machine;
    if (sysinfo(&machine) < 0)
        return RUN_MEMORY_DEFAULT;
    uint64_t half = (uint64_t)machine.totalram * machine.mem_unit / 2;
    if (half < RUN_MEMORY_MIN)
        return RUN_MEMORY_MIN;
    return half < RUN_MEMORY_DEFAULT ? half : RUN_MEMORY_DEFAULT;
}

struct run_limits run_limits_default(void)
{
    return (struct run_limits){
        .wall_ms = RUN_WALL_DEFAULT_MS,
        .memory_bytes = default_memory(),
        .disk_bytes = RUN_DISK_DEFAULT,
        .inodes = RUN_INODES_DEFAULT,
        .processes = RUN_PROCESSES_DEFAULT,
        .millicpus = RUN_MILLICPUS_DEFAULT,
        .descriptors = RUN_DESCRIPTORS_DEFAULT,
        .output_kept = RUN_OUTPUT_KEPT_DEFAULT,
        .output_total = RUN_OUTPUT_TOTAL_DEFAULT,
    };
}
