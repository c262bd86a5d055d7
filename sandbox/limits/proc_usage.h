/*
 * What a running jail uses: its processes, their memory and processor time, by its own /proc, or the host's.
 *
 * For hosts without cgroups. The server may read this, because it owns the jail's user namespace.
 * The sum covers data in sockets and shared pages given up with madvise(2); what else the kernel holds
 * for the jail is bounded only. It misses the processor time of processes that are never reaped and end between two samples.
 *
 * Side: parent. Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_smaps(5),
 * user_namespaces(7).
 */
#ifndef SANDBOX_LIMITS_PROC_USAGE_H
#define SANDBOX_LIMITS_PROC_USAGE_H

#include "sandbox/limits/socket_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_USAGE_MEMORIES_MAX 9

struct proc_usage {
    int proc_fd; /* the jail's /proc, or the host's; -1: not open */
    pid_t root;  /* in the host's: all below this process is the jail's; 0: all of /proc is */
    bool has_guard; /* `root` is a guard, above the jail's init; else it is that */
    int scratch_fd; /* a directory of the jail's tmpfs; -1: what it writes is on disk */
    struct socket_memory sockets;
    uint64_t shared_growth; /* of the machine since the run began, as the owner last read it */
    uint64_t kernel_growth; /* likewise */
    int memory_fds
        [PROC_USAGE_MEMORIES_MAX]; /* borrowed: what a session shares with the server; -1: none */
    bool is_of_program; /* `root` is the program, and no process is ours */
};

#define PROC_USAGE_NONE                                                                            \
    ((struct proc_usage){.proc_fd = -1,                                                            \
                         .scratch_fd = -1,                                                         \
                         .sockets = SOCKET_MEMORY_NONE,                                            \
                         .memory_fds = {[0 ... PROC_USAGE_MEMORIES_MAX - 1] = -1}})

/*
 * `has_guard`: the jail has no pid namespace, and `init` is the guard of its init. Sockets are not counted then. A
 * jail without a /proc of its own is read in the host's. 0; -EACCES before the program's execve, which makes the jail readable; -ECHILD if the program has
 * ended, or the jail is not complete yet; another negative errno if this kernel does not allow it.
 */
int proc_usage_open(struct proc_usage *usage, pid_t init, bool has_guard);
/* Of a jail with other jails in it, once it is open: leaves only what is below its program. 0 or a negative errno. */
int proc_usage_leave_program(struct proc_usage *usage, pid_t init);
void proc_usage_close(struct proc_usage *usage);

/*
 * What is missing in a /proc that any sample needs, as a path below it, "" being itself: static text, and errno
 * says why; NULL: nothing. Without, runs could not be held to limits.
 */
const char *proc_usage_missing(const char *proc);

struct proc_usage_sample {
    uint64_t processes; /* and threads, including zombies but not init */
    /*
     * With page tables and swap; shared pages count for each process. The image's files do not
     * count: they are page cache.
     */
    uint64_t resident_bytes;
    uint64_t file_bytes; /* in the jail's tmpfs, and in memory_fds */
    uint64_t shared_growth; /* of struct proc_usage */
    uint64_t kernel_growth; /* likewise */
    struct socket_count sockets;
    int64_t cpu_ns; /* of living processes and those that they have reaped */
};

/* Whether one of its processes is not the program's, but init or its guard: named so, and at this place of the walk. */
bool proc_usage_is_ours(const struct proc_usage *usage, const char *name, size_t position);

/* Reads two small files for each process, without taking any lock of the process, and one more. */
void proc_usage_sample_take(const struct proc_usage *usage, struct proc_usage_sample *ret_count);

/*
 * The memory in bytes: as above, but each shared page is divided among the processes that map it.
 * Pages of shared mappings that no process maps any more count as far as the machine's shared
 * memory grew. Stops early once the sum exceeds `enough`. Walks page tables and blocks while they
 * are locked: not to be called from the loop (pss.h).
 */
uint64_t proc_usage_pss(const struct proc_usage *usage, uint64_t enough);

/*
 * Tells two sets of processes of a jail apart. While the set changes, the sum above is none: a page is divided by those
 * that share it when a process is read, so pages of one that forks meanwhile count several times.
 */
struct proc_census {
    uint64_t count;
    int64_t newest; /* the largest number */
};

struct proc_census proc_usage_census(const struct proc_usage *usage);
bool proc_census_is_same(const struct proc_census *one, const struct proc_census *other);

/*
 * The most memory that the kernel can hold for the jail, in bytes: pipes, open files, watches, locks, threads and areas of
 * memory; without what sockets hold where they are counted. It reports this memory to a cgroup only. How far it grew on
 * the whole machine is known (meminfo.h), but not for whom: this bound keeps a run from being charged for what it cannot
 * have. Whatever the filter allows and holds memory is here or in the sums above; tests/jail/memory_families.py has all of
 * it. Stops once there is `enough`. UINT64_MAX: something of the jail cannot be seen. Reads files of each descriptor: not
 * to be called from the loop (pss.h). Source: proc_pid_fdinfo(5), pipe(7), inotify(7), epoll(7).
 */
uint64_t proc_usage_kernel_bound(const struct proc_usage *usage, uint64_t enough);

/* The parts that read text, for tests. They add to `count`. False: not of the file's format. */
bool proc_usage_parse_stat(const char *text, struct proc_usage_sample *count);
bool proc_usage_parse_status(const char *text, struct proc_usage_sample *count);

#endif
