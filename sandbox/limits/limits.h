/*
 * Every bound on what a client, an image or a snippet can create, in one place.
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

/*
 * Files left by a run: names read in total, files examined, directories entered, names in a path (of at
 * most 255 bytes each), and the size of a path with its NUL.
 */
#define RUN_NAMES_MAX 4096
#define RUN_FILES_LOOKED_MAX 256
#define RUN_DIRECTORIES_MAX 256
#define RUN_FILE_DEPTH_MAX 16
#define RUN_FILE_PATH_SIZE 1024
/* Files, and figures, in a result; names of those that were not returned, of each kind. */
#define RUN_FILES_MAX 32
#define RUN_LEFT_MAX 6
#define RUN_FIGURES_MAX 8
#define RUN_FIGURES_COUNTED_MAX 4000 /* less than RUN_NAMES_MAX */

/* The limits of one run, unless the operator sets others. */
#define RUN_WALL_DEFAULT_MS 30000
#define RUN_WALL_MAX_MS (24 * 60 * 60 * 1000)
/* For the whole run, including its files; at most half of the machine's memory. */
#define RUN_MEMORY_DEFAULT (2 * GIBIBYTE)
#define RUN_MILLICPUS_DEFAULT 4000 /* four processors */
#define RUN_DISK_DEFAULT (256 * MEBIBYTE) /* /work, /tmp, $HOME, /dev/shm together */
#define RUN_CPU_GRACE_S 2 /* margin of RLIMIT_CPU above the limit enforced by cgroups */
#define RUN_INODES_DEFAULT 65536 /* in these directories */
#define RUN_PROCESSES_DEFAULT 256 /* processes and threads together */
#define RUN_DESCRIPTORS_DEFAULT 1024 /* open files, each process */
#define RUN_SIGNALS_QUEUED_MAX 1024 /* and timers; they also count against the server's user */
#define RUN_LOCKED_MEMORY_MAX (8 * MEBIBYTE) /* each process */
#define RUN_STACK (8 * MEBIBYTE) /* of a main thread; a program may raise its own */
#define RUN_PROCESSES_BESIDE 2 /* RLIMIT_NPROC above the limit: init, and one too many */
#define RUN_OUTPUT_KEPT_DEFAULT MEBIBYTE /* of stdout and stderr each: the rest is dropped */
#define RUN_OUTPUT_TAIL (16 * KIBIBYTE) /* how much of that is the end of the stream */
#define RUN_OUTPUT_TOTAL_DEFAULT (256 * MEBIBYTE) /* of both: more ends the run */

/* Prewarmed sandboxes: of each kind; kinds. */
#define WARM_SANDBOXES_MAX 16
#define WARM_KINDS_MAX 8
#define WARM_FILL_MS 1 /* between a run and the first prewarmed sandbox, and between two of them */
#define WARM_SWEEP_MS 1000 /* between sweeps */
#define WARM_RETRY_MS 1000 /* after a failure, and twice as long after each further one; at most: */
#define WARM_RETRY_MAX_MS (60 * 1000)

/*
 * Templates, whose forks are sandboxes: how long one may take to start, and to fork; how many forks and how long until
 * it is replaced, since all forks of one have the same addresses and hash seed.
 */
#define TEMPLATE_START_MAX_MS 60000
#define FORK_MAX_MS 500
#define TEMPLATE_FORKS_MAX 1000
#define TEMPLATE_AGE_MAX_MS (10 * 60 * 1000)
#define TEMPLATE_SHARES_MAX 64 /* of what the kernel counts for all its forks together */
#define TEMPLATE_FAILURES_MAX 3
#define TEMPLATE_RETRY_MS (60 * 1000) /* after so many failures */
#define WARM_UNUSED_MS (10 * 60 * 1000) /* after which a kind is dropped */

/* What rlimits of this process leave to runs, at least, or they are told: addresses as V8 reserves them. */
#define RUN_ADDRESSES_NEEDED (64 * GIBIBYTE)
#define RUN_LOCKED_MEMORY_NEEDED (64 * KIBIBYTE)
#define RUN_SIGNALS_NEEDED 64

/* The range of values that the operator may set. No interpreter starts with less. */
#define RUN_MEMORY_MIN (16 * MEBIBYTE)
#define RUN_MEMORY_MAX TEBIBYTE
#define RUN_MILLICPUS_MIN 10
#define RUN_MILLICPUS_MAX 1024000
#define RUN_PROCESSES_MAX 32768
#define RUN_DISK_MIN (64 * KIBIBYTE)
#define RUN_DISK_MAX TEBIBYTE
#define RUN_OUTPUT_KEPT_MIN KIBIBYTE
#define RUN_OUTPUT_KEPT_MAX (64 * MEBIBYTE)

/* Bounds on a submitted run. */
#define CODE_MAX (12 * MEBIBYTE)
#define STDIN_MAX (12 * MEBIBYTE) /* as bytes; a descriptor may bring any amount */
#define ARGUMENTS_MAX 65536 /* of a program; the kernel bounds their bytes: execve(2) */
#define INPUT_FILES_MAX 64
#define INPUT_BYTES_MAX (8 * MEBIBYTE) /* of all input files of a run together */
#define INPUT_NAME_PARTS_MAX 16
#define INPUT_NAME_PART_MAX 255 /* NAME_MAX */

/* A compiled program: its files, and their bytes with what its compiler printed; of which so much of each stream is kept. */
#define COMPILED_FILES_MAX RUN_FILES_LOOKED_MAX
#define COMPILED_BYTES_MAX (64 * MEBIBYTE)
#define COMPILE_CACHE_DEFAULT (256 * MEBIBYTE) /* of those that are kept, together */
#define COMPILE_TEXT_MAX (64 * KIBIBYTE)

/* How much of a program's stdin is read ahead of it, beside what its pipe holds. */
#define STDIN_BUFFER_SIZE (64 * KIBIBYTE)

/* Folders of the host in each run. */
#define FOLDERS_MAX 8
#define FOLDER_PLACE_SIZE 4000 /* of the path in the jail; PATH_MAX is 4096 */
/* Of one that snippets may change: names and levels looked at, parts to protect. */
#define FOLDER_NAMES_MAX 200000
#define FOLDER_DEPTH_MAX 100
#define FOLDER_TRACED_MAX 20000 /* names in what appeared, looked at after a run for changes */
#define FOLDER_PARTS_MAX 1000
#define FOLDER_APPEARED_MAX 16 /* protected names told after a run */

/*
 * Upper layers on disk: levels of directories; between two looks at the free space, and at most
 * between two counts; and how much of the free space is left alone: this, or half if that is less.
 */
#define UPPER_DEPTH_MAX 250
#define DISK_LOOK_EVERY_MS 10
#define DISK_COUNT_EVERY_MS 1000
#define DISK_RESERVE GIBIBYTE
#define UPPER_STORE_TRIES 16 /* to make the directory of a server */

/* The queue. */
#define RUNS_QUEUED_MAX 1024
#define RUNS_QUEUED_BYTES_MAX (64 * MEBIBYTE) /* of code, input files and stdin */

/* The cells of one session, the present one included. */
#define CELLS_QUEUED_MAX 64
#define CELLS_QUEUED_BYTES_MAX (32 * MEBIBYTE)
#define CELLS_ALL_BYTES_MAX (64 * MEBIBYTE) /* of all sessions */

/* The commands of one session, at once; of each: arguments and variables, and what it has not read of its stdin. */
#define COMMANDS_MAX 16
#define SESSION_LANES_MAX 8 /* languages of a session */
#define SESSION_CHECKPOINTS_MAX 32 /* copies of a live interpreter */
/* Files of the work directory that each keeps: so many bytes, or that part of the session's memory if it is less. */
#define CHECKPOINT_FILES_MAX (64 * MEBIBYTE)
#define CHECKPOINT_FILES_PART 16
#define COMMAND_TEXT_MAX (2 * MEBIBYTE) /* about ARG_MAX, with a stack of 8 MiB */
#define COMMAND_STDIN_MAX (4 * MEBIBYTE)

/* The requests on files of one session: at once, and waiting; bytes that one reads or writes, names that one lists. */
#define FILES_AT_ONCE 4
#define FILES_WAITING_MAX 12
#define FILE_PIECE_MAX MEBIBYTE
#define FILE_ENTRIES_MAX 10000

/*
 * Calls of functions of the client, by the snippets of one session: in a cell, at once, how long one may take; a name, its
 * arguments or its value as JSON; functions, and what is told of them.
 */
#define CALLS_MAX 65536
#define CALLS_AT_ONCE 8
#define CALL_MAX_MS (60 * 60 * 1000)
#define CALL_NAME_MAX 128
#define CALL_BYTES_MAX MEBIBYTE
#define CALL_FUNCTIONS_MAX 256
#define CALL_FUNCTIONS_BYTES_MAX (256 * KIBIBYTE)
#define CALL_ANSWERS_WAITING                                                                       \
    32 /* for a program that does not read them: then none of its calls is read */
#define CALLS_TOLD_MAX 64 /* in a result */

/* Connections to ports of one session, at once. */
#define STREAMS_MAX 16

/* /proc/self/mountinfo, the largest file of /proc that is read as a whole. */
#define PROC_FILE_MAX (4 * MEBIBYTE)

/* In the cgroup of this process: how much of cgroup.procs is read, how many processes are moved. */
#define PROCESS_LIST_MAX (4 * KIBIBYTE)
#define PROCESSES_MOVED_MAX 64

/*
 * How many cgroups of ended runs may be left until the server is idle. Any that cannot be removed
 * then go when the server ends.
 */
#define CGROUPS_LEFT_MAX 64
#define CGROUPS_TIDY_MS 2 /* how long after the last run */

/* How long a seccomp profile may take to compile; milliseconds are normal. */
#define PROFILE_COMPILE_MAX_S 5

/* How long the service manager may take to provide a scope. */
#define SCOPE_MAX_MS 7000

/* How long the set-up may take before the run fails. */
#define SETUP_MAX_MS 10000

/* The same of one that was prewarmed: then another is started in its place. */
#define SETUP_WARM_MAX_MS 4000

/* When to ask the service manager again after it refused. */
#define SCOPE_RETRY_MS 60000

/*
 * Polling: the pause between samples, at least; as a multiple of the time a sample took; at most.
 */
#define SAMPLE_EVERY_MS 20
#define SAMPLE_PAUSE_FACTOR 10
#define SAMPLE_PAUSE_MAX_MS 200
/* The same of a session between two cells. */
#define SAMPLE_SLOW_MS 1000
#define WENT_ON_SAMPLES 2 /* of a session that is stopped: then it is ended */
#define STIRRED_SAMPLES 3 /* likewise, of one that was stopped again when it was looked at */

/*
 * How long a measurement of the exact memory may be blocked, and how long it may take on a busy
 * machine, before the run counts as past its limit.
 */
#define PSS_BLOCKED_MAX_MS 1000
#define PSS_MAX_MS 10000
/* How often in a row one counts for nothing, because processes began or ended meanwhile. */
#define UNSTEADY_MAX 4
/* How old the last one may be while the quick bound exceeds the limit. */
#define PSS_AGE_MAX_MS 500
/*
 * Sockets: how fast they are assumed to fill, in bytes; the pause, as a multiple of the last
 * measurement.
 */
#define SOCKETS_FILL_PER_MS (4 * MEBIBYTE)
#define PSS_PAUSE_FACTOR 2

/* How many sockets a prewarmed sandbox may have, whatever is in them. */
#define WARM_SOCKETS_MAX 16

/*
 * Memory that must stay available on the machine: this, or a twentieth of its memory if that is
 * less.
 */
#define MACHINE_MEMORY_RESERVE (256 * MEBIBYTE)

/* How long, and for how many samples, a run may be unreadable before it fails. */
#define UNREADABLE_MAX_MS 1000
#define UNREADABLE_SAMPLES_MAX 25

/*
 * How long a run may go on asking for processes that it is refused, before it is ended. With a cgroup, one that asks no
 * more may be full for three times as long.
 */
#define PROCESSES_FULL_MS 1000

/*
 * How long a cell may take to heed an interrupt before its session is ended, and before the processes that it has
 * started are killed.
 */
#define INTERRUPT_MAX_MS 2000
#define INTERRUPT_INSIST_MS 1000
#define INTERRUPT_INSISTENCE_MS 250 /* between one insistence and the next */

/* How long init may take to stop a run before it is killed itself. */
#define STOP_MAX_MS 500

#endif
