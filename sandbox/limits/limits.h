/*
 * Every bound on what a client, an image or a snippet can cause to exist, in one place.
 *
 * Side: both (constants only).  Sizes are bytes, times are milliseconds.
 */
#ifndef SANDBOX_LIMITS_LIMITS_H
#define SANDBOX_LIMITS_LIMITS_H

#include <stdint.h>

#define KIBIBYTE (UINT64_C(1) << 10)
#define MEBIBYTE (UINT64_C(1) << 20)
#define GIBIBYTE (UINT64_C(1) << 30)
#define TEBIBYTE (UINT64_C(1) << 40)

/* Pictures that a run leaves: how many are taken, names of them, names that are looked at. */
#define RUN_FILES_MAX 8
#define RUN_FILE_NAME_SIZE 256
#define RUN_NAMES_MAX 4096

/* One run: what a snippet may use unless the operator says otherwise. */
#define RUN_WALL_DEFAULT_MS 30000
#define RUN_WALL_MAX_MS (24 * 60 * 60 * 1000)
/* Of the whole run, its files among it; less where it would be more than half of the machine's. */
#define RUN_MEMORY_DEFAULT (2 * GIBIBYTE)
#define RUN_MILLICPUS_DEFAULT 4000         /* four processors */
#define RUN_DISK_DEFAULT (256 * MEBIBYTE)  /* /work, /tmp, $HOME, /dev/shm together */
#define RUN_CPU_GRACE_S 2 /* by which RLIMIT_CPU lies above what cgroups enforce */
#define RUN_INODES_DEFAULT 65536 /* files in them */
#define RUN_PROCESSES_DEFAULT 256 /* processes and threads together */
#define RUN_DESCRIPTORS_DEFAULT 1024 /* open files, each process */
#define RUN_SIGNALS_QUEUED_MAX 1024 /* and timers; they count for the server's user too */
#define RUN_LOCKED_MEMORY_MAX (8 * MEBIBYTE) /* each process */
#define RUN_OUTPUT_KEPT_DEFAULT MEBIBYTE /* of stdout and of stderr, each: the rest is dropped */
#define RUN_OUTPUT_TAIL (16 * KIBIBYTE) /* of that, how much is the end of the stream */
#define RUN_OUTPUT_TOTAL_DEFAULT (256 * MEBIBYTE) /* written in all: more ends the run */

/* Sandboxes made ahead. */
#define WARM_SANDBOXES_MAX 16
#define POOL_KINDS_MAX 4
#define POOL_FILL_MS 1                 /* after a run, before the first; and between two */
#define WARM_POOL_SWEEP_MS 1000              /* between looks at what is used, and still wanted */
#define POOL_UNUSED_MS (10 * 60 * 1000) /* after which they are not */

/* Between what the operator may choose. Below, no interpreter would start. */
#define RUN_MEMORY_MIN (16 * MEBIBYTE)
#define RUN_MEMORY_MAX TEBIBYTE
#define RUN_MILLICPUS_MIN 10
#define RUN_MILLICPUS_MAX 1024000
#define RUN_PROCESSES_MAX 32768
#define RUN_DISK_MIN (64 * KIBIBYTE)
#define RUN_DISK_MAX TEBIBYTE
#define RUN_OUTPUT_KEPT_MIN KIBIBYTE
#define RUN_OUTPUT_KEPT_MAX (64 * MEBIBYTE)

/* What a caller may hand in. */
#define CODE_MAX (12 * MEBIBYTE)
#define ARGUMENTS_MAX 256

/* How many at once. */
#define RUNS_QUEUED_MAX 1024
#define RUNS_QUEUED_BYTES_MAX (64 * MEBIBYTE) /* of code that waits */

/* /proc/self/mountinfo, the largest file of /proc that is read whole. */
#define PROC_FILE_MAX (4 * MEBIBYTE)

/* Of the cgroup that this process is in: how much of cgroup.procs is read, how many are moved. */
#define PROCESS_LIST_MAX (4 * KIBIBYTE)
#define PROCESSES_MOVED_MAX 64

/*
 * Cgroups of ended runs that wait to be removed until nothing runs, or there are so many. What cannot
 * be removed then, and is more than that, goes when the server does.
 */
#define CGROUPS_LEFT_MAX 64
#define CGROUPS_TIDY_MS 2 /* after the end of the last of them */

/* How long a seccomp profile may take to compile, which takes milliseconds. */
#define PROFILE_COMPILE_MAX_S 5

/* How long the service manager may take to give a scope; where it takes longer, there is none. */
#define SCOPE_MAX_MS 7000

/* How long set-up may take before the run is given up as our fault. */
#define SETUP_MAX_MS 10000

/* How long a refusal of the manager is taken for its answer. */
#define ASK_AGAIN_MS 60000

/* Without cgroups: how often a run is looked at; and how much longer than a look the pause is. */
#define SAMPLE_EVERY_MS 20
#define SAMPLE_PAUSE_FACTOR 10
#define SAMPLE_PAUSE_MAX_MS 200

/*
 * How long the exact sum of a run's memory may be kept from going on, and how long it may take on a machine
 * that has much else to do; then it counts as too much.
 */
#define SUM_BLOCKED_MAX_MS 1000
#define SUM_MAX_MS 10000
/* And how old it may get while the quick bound lies above the limit. */
#define SUM_AGE_MAX_MS 500

/* What has to stay available on the machine, or a twentieth of it where that is less. */
#define MACHINE_MEMORY_RESERVE (256 * MEBIBYTE)

/* How long, and for how many looks, a run may not be open to them, before it is ended as our fault. */
#define BLIND_MAX_MS 1000
#define UNREADABLE_SAMPLES_MAX 25

/* How long a run may have every process it may have, and want more, before it is ended. */
#define PROCESSES_FULL_MS 1000

/* How long init may take to end a run when it is asked to, before it is killed itself. */
#define STOP_MAX_MS 500

#endif
