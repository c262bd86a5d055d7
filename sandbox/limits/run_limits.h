/*
 * What one run may use, and what it used.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_RUN_LIMITS_H
#define SANDBOX_LIMITS_RUN_LIMITS_H

#include <stdbool.h>
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

struct run_usage {
    int64_t cpu_ns;            /* of all processes */
    int64_t peak_memory_bytes; /* 0 unknown */
    int64_t peak_processes;    /* init not counted; 0 unknown */
    unsigned limits_reached;   /* of enum limit_reached */
    bool out_of_memory;        /* the kernel killed it for that */
};

#endif
