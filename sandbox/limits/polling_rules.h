/*
 * What polling decides: samples in, decisions out. Nothing here reads or ends anything.
 *
 * Side: parent.  Times are clock_now() nanoseconds.
 */
#ifndef SANDBOX_LIMITS_POLLING_RULES_H
#define SANDBOX_LIMITS_POLLING_RULES_H

#include "sandbox/limits/enforcement.h"
#include "sandbox/limits/outcome.h"
#include "sandbox/limits/proc_usage.h"
#include "sandbox/limits/run_limits.h"

#include <stdbool.h>
#include <stdint.h>

struct polling_sample {
    struct proc_usage_sample usage;
    int64_t now;
    bool machine_is_exhausted; /* nearly: meminfo.h */
    bool is_measuring;         /* a measurement of the exact memory is under way: */
    int64_t measuring_ns;      /* since when */
    int64_t blocked_ns;        /* how much of that it was kept from working */
};

/* What earlier samples have shown. */
struct polling_history {
    int64_t sampled_at;
    uint64_t
        shared_before; /* of the machine, at the first sample: meminfo.h; UINT64_MAX: none yet */
    uint64_t kernel_before; /* likewise, or the least since then */
    int64_t full_ns;        /* how long, of late, there were more processes than allowed */
    int64_t measured_at;    /* of the last exact measurement: its end, */
    uint64_t measured_bytes; /* its result, */
    int64_t measuring_ns; /* how long it took, */
    uint64_t bound_then;     /* and the bound when it began */
    int unsteady; /* excesses in a row that were not steady: it is measured again */
    int unreadable_samples; /* before the first readable one */
    int64_t unreadable_since;
    uint64_t peak_memory_bytes;
    uint64_t peak_processes;
    uint64_t processes; /* in the last sample */
    int64_t cpu_ns;
    int64_t cpu_before_ns; /* of a session: what it had used before its present cell */
    unsigned limits_reached; /* of enum limit_reached */
};

struct polling_decision {
    enum limit_index exceeded; /* the run has to end; LIMIT_COUNT: none */
    bool measure;              /* first the exact memory has to be measured */
};

/* Only the limits that `enforced` leaves to polling count. */
struct polling_decision polling_rules_judge(struct polling_history *history,
                                            const struct enforcement *enforced,
                                            const struct run_limits *limits,
                                            const struct polling_sample *sample);

/* The exact memory. */
struct polling_measurement {
    uint64_t bytes;        /* UINT64_MAX: it could not be had */
    uint64_t kernel_bytes; /* of that, what the kernel holds */
    bool is_steady; /* no process began or ended meanwhile; else it may be more than there is */
    int64_t now, taken_ns; /* when it ended, and how long it took */
};

/*
 * Takes it in. The limit that the run is past, or LIMIT_COUNT. The kernel's part is told where it decides, and is no small
 * one. An excess that is not steady is measured again, UNSTEADY_MAX times in a row; then none can be had.
 */
enum limit_index polling_rules_take_measurement(struct polling_history *history,
                                                const struct run_limits *limits,
                                                const struct polling_measurement *measurement);

/* The run has less memory than was measured, and is not past its limit of it. */
void polling_rules_forget_memory(struct polling_history *history);

/*
 * The limit that a run has reached whose exact memory cannot be had, or not in time. Many processes are the most
 * likely cause: one with as many as it may have is not told that it is out of memory.
 */
enum limit_index polling_rules_unmeasured(const struct polling_history *history,
                                          const struct run_limits *limits);

/* Takes in that a sample could not be taken. True: the run counts as unobservable. */
bool polling_rules_note_unreadable(struct polling_history *history, int64_t now);

/*
 * The same decision for a prewarmed sandbox, from one sample, whatever enforces its processor time.
 */
bool polling_rules_is_past(const struct enforcement *enforced, const struct run_limits *limits,
                           const struct proc_usage_sample *usage, int64_t cpu_ns);

/* How long to wait after a sample that took `taken_ns`. */
int64_t polling_rules_pause_ns(int64_t taken_ns);

#endif
