/*
 * Enforces one run's limits of memory, processes and processor time, and accounts for what it used:
 * by a cgroup as far as there is one, by polling otherwise, for each limit separately.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_LIMITER_H
#define SANDBOX_LIMITS_LIMITER_H

#include "sandbox/limits/cgroup_limiter.h"
#include "sandbox/limits/disk_watch.h"
#include "sandbox/limits/enforcement.h"
#include "sandbox/limits/outcome.h"
#include "sandbox/limits/polling_limiter.h"

#include <sys/resource.h>

struct limiter {
    struct cgroup_limiter by_cgroup;
    struct polling_limiter by_polling;
    struct disk_watch disk;
    bool is_over; /* a limit was exceeded, or the run ended */
    void (*exceeded)(struct limiter *limiter, enum run_outcome outcome);
    void (*unreadable)(struct limiter *limiter);
    void (*went_on)(struct limiter *limiter); /* limiter_pause() */
    bool (*near_memory)(struct limiter *limiter); /* limiter_let_others_live() */
};

#define LIMITER_NONE                                                                               \
    ((struct limiter){.by_cgroup = CGROUP_LIMITER_NONE,                                            \
                      .by_polling = POLLING_LIMITER_NONE,                                          \
                      .disk = DISK_WATCH_NONE})

/*
 * Before the run's first process: makes its cgroup, if `parent` has any. `enforced` says what
 * enforces each limit. 0, or a negative errno with its fault.
 */
int limiter_open(struct limiter *limiter, struct cgroup_parent *parent,
                 const struct enforcement *enforced, const struct run_limits *limits,
                 struct fault *fault);

/*
 * The run also writes to this directory on disk, borrowed until limiter_account(), and no file system
 * of its own bounds it. DISK_DIRECTORIES_MAX at most, all on one file system. Precedes limiter_begin().
 */
void limiter_watch_disk(struct limiter *limiter, int directory_fd);

/*
 * The run may change this folder of the host, whose descriptor is borrowed likewise: of the free space there,
 * a part is left alone. FOLDERS_MAX at most. Precedes limiter_begin().
 */
void limiter_watch_space(struct limiter *limiter, int directory_fd);

/*
 * The run has no namespaces: its init has a guard, whose pid stands for that of init. `uid` is that of its processes if
 * it is not this process's own, else 0. Precedes everything but limiter_open().
 */
void limiter_expect_guard(struct limiter *limiter, uid_t uid);
/* For a template, which has the jails of its forks in its own: their usage is not its. */
void limiter_expect_jails(struct limiter *limiter);

/* For CLONE_INTO_CGROUP; -1: there is no cgroup. */
int limiter_cgroup_fd(const struct limiter *limiter);

/* What enforces each limit. */
const struct enforcement *limiter_enforcement(const struct limiter *limiter);

/* For a prewarmed sandbox that gets its run: of the limits, only the time may differ. */
void limiter_set_limits(struct limiter *limiter, const struct run_limits *limits);

/*
 * The program begins. From now on the loop calls, once at most, limiter->exceeded with
 * OUTCOME_OUT_OF_MEMORY, _PROCESS_LIMIT, _CPU_LIMIT or _DISK_LIMIT, or limiter->unreadable if the run cannot be
 * sampled. Runs that the kernel ends show in limiter_account().
 */
void limiter_begin(struct limiter *limiter, struct loop *loop, pid_t init);

/*
 * Instead of that, for a prewarmed sandbox: takes one sample. Whether it is past a limit that the
 * kernel does not enforce, or has been unreadable again and again.
 */
bool limiter_is_past(struct limiter *limiter, pid_t init);

/* For a caller that blocks the loop: takes a sample now, if one is due. As from the loop. */
void limiter_check(struct limiter *limiter);

/*
 * A session between its cells. Paused: its cgroup, if there is one, is frozen. Without one, limiter->went_on is called
 * if its processes were stopped and one goes on all the same: the kernel continues those that ask it to by a timer.
 * Resumed: a cell begins with these limits, of which only the time may differ.
 */
void limiter_pause(struct limiter *limiter, bool is_stopped);
void limiter_resume(struct limiter *limiter, const struct run_limits *limits);

/* In the middle of a cell: freezes its cgroup, or lets it go on. False: there is none. */
bool limiter_hold(struct limiter *limiter, bool hold);

/* After `exceeded`: what did so is being ended, and the others go on, with the same limits. */
void limiter_go_on(struct limiter *limiter);

/* The same after OUTCOME_OUT_OF_MEMORY, where what was not needed is being ended: it does not count as reached, and is measured again. */
void limiter_give_way(struct limiter *limiter);

/*
 * Out of memory, the kernel kills one process of the cgroup, if there is one, and not all; and near the limit, while it slows down
 * who asks for more, near_memory() is called, until it answers that nothing can give way. Once more from then on.
 */
void limiter_let_others_live(struct limiter *limiter, bool (*near_memory)(struct limiter *limiter));

/* How many it has killed for that; 0 without a cgroup. */
uint64_t limiter_memory_kills(const struct limiter *limiter);

/* What a session has used so far. *ret_usage is as of limiter_account(), but for out_of_memory. */
void limiter_measure(struct limiter *limiter, struct run_usage *ret_usage);

/* Kills the whole run at once, if it has a cgroup: true. */
bool limiter_kill(const struct limiter *limiter);

/*
 * After the last process but init has ended, all having used `resources`: stops sampling and fills
 * in
 * *ret_usage. `killed`: SIGKILL ended init or the program.
 */
void limiter_account(struct limiter *limiter, const struct rusage *resources, bool killed,
                     struct run_usage *ret_usage);

/* Gives the cgroup up. The run's processes must have been reaped. */
void limiter_release(struct limiter *limiter);

#endif
