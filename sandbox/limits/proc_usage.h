/*
 * Counting a running jail: its processes, their memory and processor time, through its own /proc.
 *
 * For hosts without cgroups. The server may look into the jail, because the jail's user namespace is
 * its own. What is counted is what programs use that do not set out to hide it. Not seen are memory
 * that no process has mapped (shared pages given up with madvise(2), what waits in sockets) and the
 * processor time of processes that nobody waits for and that end between two looks. Against the
 * first, meminfo_is_nearly_exhausted() stands behind it.
 *
 * Side: parent.  Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_smaps(5),
 * user_namespaces(7).
 */
#ifndef SANDBOX_LIMITS_PROC_USAGE_H
#define SANDBOX_LIMITS_PROC_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_usage {
    int proc_fd;    /* the jail's /proc; -1 while it could not be opened */
    int scratch_fd; /* a directory of the jail's tmpfs */
};

#define PROC_USAGE_NONE ((struct proc_usage){-1, -1})

/*
 * 0; -EACCES while the program, which makes the jail accessible, has not been executed yet; -ECHILD
 * when it has ended, or the jail is not made yet; another negative errno where this kernel does not let
 * us look.
 */
int proc_usage_open(struct proc_usage *usage, pid_t init);
void proc_usage_close(struct proc_usage *usage);

struct proc_usage_sample {
    uint64_t processes;      /* and threads, zombies too; init is not counted */
    /*
     * With page tables and swap; shared pages count for each process. Without the image's files, which
     * are the page cache's.
     */
    uint64_t resident_bytes;
    uint64_t file_bytes;     /* in the jail's tmpfs */
    int64_t cpu_ns;          /* of the living and of those they have waited for */
};

/* Two small files for each process, for which no lock of the process is taken. */
void proc_usage_sample_take(const struct proc_usage *usage, struct proc_usage_sample *ret_count);

/*
 * The memory of all in bytes: as above, but each shared page divided among those that map it. Less,
 * but more than `enough`, where that shows before all are looked at. Walks the page tables, and waits
 * for whoever changes them: not to be called from the loop (pss.h).
 */
uint64_t proc_usage_pss(const struct proc_usage *usage, uint64_t enough);

/* The parts that read text, for tests. They add to `count`. False: not of the file's format. */
bool proc_usage_parse_stat(const char *text, struct proc_usage_sample *count);
bool proc_usage_parse_status(const char *text, struct proc_usage_sample *count);

#endif
