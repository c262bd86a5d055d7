/*
 * What one run may use.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_RUN_LIMITS_H
#define SANDBOX_LIMITS_RUN_LIMITS_H

#include <stdint.h>

struct run_limits {
    int64_t wall_ms;       /* 1..RUN_WALL_MAX_MS, counted from the start of the program */
    uint64_t memory_bytes; /* all processes together, including the files they write */
    uint64_t disk_bytes;   /* all writable directories together */
    uint64_t inodes;
    uint64_t processes;    /* and threads */
    uint32_t millicpus;    /* processor time per second of wall time: 1000 is one processor */
    uint64_t descriptors;  /* of each process */
    uint64_t output_kept;  /* of each stream */
    uint64_t output_total; /* both streams together; more ends the run */
};

/* The defaults of sandbox/limits/limits.h, reduced to what this machine has memory for. */
struct run_limits run_limits_default(void);

#endif
