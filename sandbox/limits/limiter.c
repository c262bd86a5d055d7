#include "sandbox/limits/limiter.h"

#include "sandbox/base/owned.h"

#include <stddef.h>

int limiter_open(struct limiter *limiter, struct cgroup_parent *parent,
                 const struct enforcement *enforced, const struct run_limits *limits,
                 struct fault *fault)
{
    limiter->by_polling.enforced = *enforced;
    limiter->by_polling.limits = *limits;
    if (parent->subtree.fd < 0)
        return 0;
    return cgroup_make(parent, limits, &limiter->by_cgroup.cgroup, fault);
}

int limiter_cgroup_fd(const struct limiter *limiter)
{
    return limiter->by_cgroup.cgroup.fd;
}

const struct enforcement *limiter_enforcement(const struct limiter *limiter)
{
    return &limiter->by_polling.enforced;
}

void limiter_set_limits(struct limiter *limiter, const struct run_limits *limits)
{
    limiter->by_polling.limits = *limits;
}

static void exceed(struct limiter *limiter, enum limit_index limit)
{
    if (limiter->is_over)
        return;
    limiter->is_over = true;
    limiter->by_polling.is_over = true;
    limiter->exceeded(limiter, outcome_of_limit(limit));
}

static void on_polled(struct polling_limiter *polling, enum limit_index limit)
{
    exceed(container_of(polling, struct limiter, by_polling), limit);
}

static void on_unreadable(struct polling_limiter *polling)
{
    struct limiter *limiter = container_of(polling, struct limiter, by_polling);
    if (!limiter->is_over)
        limiter->unreadable(limiter);
    limiter->is_over = true;
}

static void on_went_on(struct polling_limiter *polling)
{
    struct limiter *limiter = container_of(polling, struct limiter, by_polling);
    if (!limiter->is_over)
        limiter->went_on(limiter);
    limiter->is_over = true;
}

static void on_full(struct cgroup_limiter *by_cgroup)
{
    exceed(container_of(by_cgroup, struct limiter, by_cgroup), LIMIT_PROCESSES);
}

static void on_disk(struct disk_watch *watch, enum disk_finding finding)
{
    struct limiter *limiter = container_of(watch, struct limiter, disk);
    if (finding == DISK_EXCEEDED) {
        limiter->by_polling.history.limits_reached |= REACHED_DISK;
        exceed(limiter, LIMIT_DISK);
    } else {
        on_unreadable(&limiter->by_polling);
    }
}

void limiter_watch_disk(struct limiter *limiter, int directory_fd)
{
    struct disk_watch *disk = &limiter->disk;
    if (disk->count < DISK_DIRECTORIES_MAX)
        disk->directory_fds[disk->count++] = directory_fd;
}

void limiter_watch_space(struct limiter *limiter, int directory_fd)
{
    struct disk_watch *disk = &limiter->disk;
    if (disk->space_count < FOLDERS_MAX)
        disk->space_fds[disk->space_count++] = directory_fd;
}

void limiter_expect_guard(struct limiter *limiter, uid_t uid)
{
    limiter->by_polling.has_guard = true;
    limiter->disk.has_guard = true;
    limiter->disk.uid = uid;
}

void limiter_expect_jails(struct limiter *limiter)
{
    limiter->by_polling.has_jails = true;
}

void limiter_begin(struct limiter *limiter, struct loop *loop, pid_t init)
{
    limiter->by_cgroup.stays_full = on_full;
    limiter->by_polling.exceeded = on_polled;
    limiter->by_polling.unreadable = on_unreadable;
    limiter->by_polling.went_on = on_went_on;
    if (limiter->by_polling.enforced.processes == ENFORCED_BY_CGROUP)
        cgroup_limiter_begin(&limiter->by_cgroup, loop);
    if (!enforcement_is_cgroup(&limiter->by_polling.enforced))
        polling_limiter_begin(&limiter->by_polling, loop, init);
    limiter->disk.found = on_disk;
    if (limiter->disk.count + limiter->disk.space_count > 0 &&
        disk_watch_start(&limiter->disk, loop, init, &limiter->by_polling.limits) < 0)
        on_unreadable(&limiter->by_polling);
}

bool limiter_is_past(struct limiter *limiter, pid_t init)
{
    struct cgroup_usage used = {0};
    if (limiter->by_cgroup.cgroup.fd >= 0)
        cgroup_measure(&limiter->by_cgroup.cgroup, &used);
    return polling_limiter_is_past(&limiter->by_polling, init, used.cpu_ns);
}

void limiter_check(struct limiter *limiter)
{
    polling_limiter_check(&limiter->by_polling);
}

void limiter_pause(struct limiter *limiter, bool is_stopped)
{
    bool is_frozen = limiter->by_cgroup.cgroup.fd >= 0;
    polling_limiter_turn(&limiter->by_polling, &limiter->by_polling.limits, true,
                         is_stopped && !is_frozen);
    cgroup_limiter_pause(&limiter->by_cgroup);
}

void limiter_resume(struct limiter *limiter, const struct run_limits *limits)
{
    cgroup_freeze(&limiter->by_cgroup.cgroup, false);
    polling_limiter_turn(&limiter->by_polling, limits, false, false);
}

bool limiter_hold(struct limiter *limiter, bool hold)
{
    if (hold)
        cgroup_limiter_pause(&limiter->by_cgroup);
    else
        cgroup_freeze(&limiter->by_cgroup.cgroup, false);
    return limiter->by_cgroup.cgroup.fd >= 0;
}

void limiter_go_on(struct limiter *limiter)
{
    limiter->is_over = false;
    limiter->by_polling.is_over = false;
}

void limiter_give_way(struct limiter *limiter)
{
    limiter_go_on(limiter);
    polling_rules_forget_memory(&limiter->by_polling.history);
    limiter->by_polling.switches = 0; /* what ends has not gone on */
}

static bool on_near_memory(struct cgroup_limiter *by_cgroup)
{
    struct limiter *limiter = container_of(by_cgroup, struct limiter, by_cgroup);
    return limiter->near_memory(limiter);
}

void limiter_let_others_live(struct limiter *limiter, bool (*near_memory)(struct limiter *limiter))
{
    struct cgroup_limiter *by_cgroup = &limiter->by_cgroup;
    if (by_cgroup->cgroup.fd < 0 || by_cgroup->is_slow)
        return;
    if (by_cgroup->memory.fd < 0)
        cgroup_write(by_cgroup->cgroup.fd, "memory.oom.group", "0");
    limiter->near_memory = near_memory;
    by_cgroup->near_memory = on_near_memory;
    cgroup_limiter_give_way(by_cgroup, limiter->by_polling.limits.memory_bytes);
}

uint64_t limiter_memory_kills(const struct limiter *limiter)
{
    return limiter->by_cgroup.cgroup.fd >= 0 ? cgroup_memory_kills(&limiter->by_cgroup.cgroup) : 0;
}

void limiter_measure(struct limiter *limiter, struct run_usage *ret_usage)
{
    polling_limiter_measure(&limiter->by_polling);
    const struct polling_history *polled = &limiter->by_polling.history;
    *ret_usage = (struct run_usage){
        .cpu_ns = polled->cpu_ns,
        .peak_memory_bytes = (int64_t)polled->peak_memory_bytes,
        .peak_processes = (int64_t)polled->peak_processes,
        .limits_reached = polled->limits_reached,
    };
    cgroup_limiter_account(&limiter->by_cgroup, false, ret_usage);
}

bool limiter_kill(const struct limiter *limiter)
{
    cgroup_kill(&limiter->by_cgroup.cgroup);
    return limiter->by_cgroup.cgroup.fd >= 0;
}

static int64_t larger(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

static int64_t nanoseconds_of(const struct timeval *time)
{
    return time->tv_sec * NANOSECONDS_PER_SECOND + time->tv_usec * 1000;
}

void limiter_account(struct limiter *limiter, const struct rusage *resources, bool killed,
                     struct run_usage *ret_usage)
{
    const struct polling_history *polled = &limiter->by_polling.history;
    int64_t cpu_ns = nanoseconds_of(&resources->ru_utime) + nanoseconds_of(&resources->ru_stime);
    cgroup_limiter_stop(&limiter->by_cgroup);
    polling_limiter_stop(&limiter->by_polling);
    disk_watch_stop(&limiter->disk);
    *ret_usage = (struct run_usage){
        /* Only the samples include processes that the kernel reaped after init was killed. */
        .cpu_ns = larger(cpu_ns, polled->cpu_ns),
        .peak_memory_bytes =
            larger(resources->ru_maxrss * INT64_C(1024), (int64_t)polled->peak_memory_bytes),
        .peak_processes = (int64_t)polled->peak_processes,
        .limits_reached = polled->limits_reached,
    };
    cgroup_limiter_account(&limiter->by_cgroup, killed, ret_usage);
}

void limiter_release(struct limiter *limiter)
{
    polling_limiter_release(&limiter->by_polling);
    disk_watch_stop(&limiter->disk);
    cgroup_limiter_release(&limiter->by_cgroup);
}
