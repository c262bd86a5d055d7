/*
 * How a run ended and what it printed. A bad end of the program is data, never an error of ours.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RESULT_H
#define SANDBOX_RESULT_H

#include "sandbox/base/buffer.h"
#include "sandbox/limits/enforcement.h"
#include "sandbox/limits/limits.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum run_outcome {
    OUTCOME_EXITED,        /* exit_code says how */
    OUTCOME_SIGNALED,      /* signal says which */
    OUTCOME_TIMED_OUT,     /* wall deadline */
    OUTCOME_CPU_LIMIT,     /* more processor time than wall time x limits.millicpus */
    OUTCOME_OUT_OF_MEMORY, /* all of it together passed limits.memory_bytes */
    OUTCOME_PROCESS_LIMIT, /* wanted more than limits.processes, and went on wanting */
    OUTCOME_OUTPUT_LIMIT,  /* printed more than limits.output_total */
    OUTCOME_CANCELLED,
    OUTCOME_COUNT
};

/*
 * "exited", "signaled", "timed_out", "cpu_limit", "out_of_memory", "process_limit", "output_limit",
 * "cancelled".
 */
const char *run_outcome_name(enum run_outcome outcome);

/* What a run came up against, whether that ended it or the program went on: a set, as bits. */
enum limit_reached {
    REACHED_TIME = 1 << 0,
    REACHED_CPU = 1 << 1,
    REACHED_MEMORY = 1 << 2,
    REACHED_PROCESSES = 1 << 3,
    REACHED_DISK = 1 << 4, /* no room, or no file more, when the program ended */
    REACHED_OUTPUT = 1 << 5, /* bytes of stdout or stderr were dropped */
    REACHED_MACHINE_MEMORY = 1 << 6, /* the machine had hardly any left */
};

/* What a run may use. */
struct run_limits {
    int64_t wall_ms; /* 1..RUN_WALL_MAX_MS, counted from the start of the program */
    uint64_t memory_bytes; /* of all processes together, and of the files they write */
    uint64_t disk_bytes;   /* all writable directories together */
    uint64_t inodes;
    uint64_t processes;    /* and threads */
    uint32_t millicpus;    /* processor time per second of wall time: 1000 is one processor */
    uint64_t descriptors;  /* of each process */
    uint64_t output_kept;  /* of each stream */
    uint64_t output_total; /* both streams together, more ends the run */
};

/* The defaults of sandbox/limits/limits.h, as far as this machine has the memory. */
struct run_limits run_limits_default(void);

/* "SIGSEGV" for 11, "SIGRTMIN+3", "signal 99" for what has no name. Static or thread-local text. */
const char *signal_name(int signal);

/* One stream: its head, and when it was longer than the cap, its tail. */
struct capture {
    struct buffer head;
    struct buffer tail; /* the last bytes, in order; empty when nothing was cut */
    uint64_t total; /* bytes the program wrote */
    uint64_t cut; /* bytes between head and tail that were dropped */
};

/* A picture in the work directory, as far as its name tells. */
struct run_file {
    char name[RUN_FILE_NAME_SIZE]; /* any bytes but '/' */
    int fd; /* owned: a regular file, which nobody can change any more */
    uint64_t size; /* at least 1 */
    struct timespec written_at;
};

struct run_result {
    enum run_outcome outcome;
    int exit_code; /* 0..255 when EXITED, else -1 */
    int signal; /* when SIGNALED, else 0 */
    struct capture out, err;
    int64_t queued_ns; /* from run_submit() until its turn came */
    int64_t duration_ns; /* from the start of the program to its end */
    int64_t cpu_ns; /* of all processes */
    int64_t peak_memory_bytes; /* of the whole run, as far as it was seen; 0 unknown */
    int64_t peak_processes; /* init not counted; 0 unknown */
    unsigned limits_reached; /* of enum limit_reached */
    struct run_limits limits; /* that it ran under */
    struct enforcement enforced;
    const char *isolation; /* static text */
    struct run_file files[RUN_FILES_MAX]; /* file_count of them, the oldest first */
    size_t file_count;
    size_t files_left; /* more that are there, at least */
};

void capture_release(struct capture *capture);
void run_result_release(struct run_result *result);

#endif
