/*
 * How a run ended and what it printed. A bad end of the program is data, never an error of ours.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RESULT_H
#define SANDBOX_RESULT_H

#include "sandbox/base/buffer.h"

#include <stdint.h>

enum run_outcome {
    OUTCOME_EXITED,        /* exit_code says how */
    OUTCOME_SIGNALED,      /* signal says which */
    OUTCOME_TIMED_OUT,     /* wall deadline */
    OUTCOME_OUT_OF_MEMORY,
    OUTCOME_OUTPUT_LIMIT,  /* printed more than limits.output_total */
    OUTCOME_CANCELLED,
    OUTCOME_COUNT
};

/* "exited", "signaled", "timed_out", "out_of_memory", "output_limit", "cancelled". */
const char *run_outcome_name(enum run_outcome outcome);

/* "SIGSEGV" for 11, "SIGRTMIN+3", "signal 99" for what has no name. Static or thread-local text. */
const char *signal_name(int signal);

/* One stream: its head, and when it was longer than the cap, its tail. */
struct capture {
    struct buffer head;
    struct buffer tail; /* the last bytes, in order; empty when nothing was cut */
    uint64_t total; /* bytes the program wrote */
    uint64_t cut; /* bytes between head and tail that were dropped */
};

struct run_result {
    enum run_outcome outcome;
    int exit_code; /* 0..255 when EXITED, else -1 */
    int signal; /* when SIGNALED, else 0 */
    struct capture out, err;
    int64_t duration_ns; /* from the start of the program to its end */
    int64_t cpu_ns;
    int64_t peak_memory_bytes; /* largest resident set of one process; 0 unknown */
    int64_t wall_limit_ms;
    uint64_t memory_limit_bytes;
    uint64_t output_limit_bytes; /* output_total */
    const char *isolation; /* the tier: static text */
    const char *limits; /* "rlimit" or "cgroup": static text */
};

void capture_release(struct capture *capture);
void run_result_release(struct run_result *result);

#endif
