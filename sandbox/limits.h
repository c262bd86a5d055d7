/*
 * Every bound on what a client, an image or a snippet can cause to exist, in one place.
 *
 * Side: both (constants only).  Sizes are bytes, times are milliseconds.
 */
#ifndef SANDBOX_LIMITS_H
#define SANDBOX_LIMITS_H

#include <stdint.h>

#define KIBIBYTE (UINT64_C(1) << 10)
#define MEBIBYTE (UINT64_C(1) << 20)
#define GIBIBYTE (UINT64_C(1) << 30)

/* One run: what a snippet may use unless the operator says otherwise. */
#define RUN_WALL_DEFAULT_MS 30000
#define RUN_WALL_MAX_MS (24 * 60 * 60 * 1000)
#define RUN_MEMORY_DEFAULT (2 * GIBIBYTE)  /* RLIMIT_DATA, each process */
#define RUN_ADDRESS_SPACE_DEFAULT (8 * GIBIBYTE) /* RLIMIT_AS, shared memory counts here */
#define RUN_DISK_DEFAULT (256 * MEBIBYTE)  /* /work, /tmp, $HOME, /dev/shm together */
#define RUN_INODES_DEFAULT 65536           /* files in them */
#define RUN_PROCESSES_DEFAULT 256          /* processes and threads together */
#define RUN_DESCRIPTORS_DEFAULT 1024       /* open files, each process */
#define RUN_SIGNALS_QUEUED_MAX 1024        /* and timers; they count for the server's user too */
#define RUN_LOCKED_MEMORY_MAX (8 * MEBIBYTE) /* each process */
#define RUN_OUTPUT_KEPT_DEFAULT MEBIBYTE /* of stdout and of stderr, each: the rest is dropped */
#define RUN_OUTPUT_TAIL (16 * KIBIBYTE) /* of that, how much is the end of the stream */
#define RUN_OUTPUT_TOTAL_DEFAULT (256 * MEBIBYTE) /* written in all: more ends the run */

/* What a caller may hand in. */
#define CODE_MAX (12 * MEBIBYTE)
#define ARGUMENTS_MAX 256

/* How many at once. */
#define RUNS_QUEUED_MAX 1024
#define RUNS_QUEUED_BYTES_MAX (64 * MEBIBYTE) /* of code that waits */

/* How long set-up may take before the run is given up as our fault. */
#define SETUP_MAX_MS 10000

/* How long init may take to end a run when it is asked to, before it is killed itself. */
#define STOP_MAX_MS 500

#endif
