#include "sandbox/limits/disk_watch.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/disk_usage.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/polling_rules.h"
#include "sandbox/limits/proc_usage.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#define MILLISECONDS(number) ((number) * NANOSECONDS_PER_MILLISECOND)

/* The process that watches. */
struct watcher {
    const struct disk_watch *watch;
    dev_t device; /* of the directories */
    pid_t init, parent;
    struct disk_usage most;
    struct proc_usage jail; /* once it can be opened */
    struct statfs start; /* of the file system, when the run began */
    struct statfs spaces[FOLDERS_MAX]; /* of the others, likewise */
    struct statfs counted; /* at the last count, which had this result: */
    struct disk_usage usage;
    int64_t counted_at; /* clock_now(); 0: never */
};

static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

/* -EAGAIN: the program has not begun yet, or has ended. */
static int enter_jail(struct watcher *watcher)
{
    if (watcher->jail.proc_fd >= 0)
        return 0;
    bool has_guard = watcher->watch->has_guard;
    int r = proc_usage_open(&watcher->jail, watcher->init, has_guard);
    if (r < 0)
        return r == -EACCES || r == -ECHILD ? -EAGAIN : r;
    if (has_guard)
        return 0;
    if (setns(watcher->jail.sockets.user_ns_fd, CLONE_NEWUSER) < 0)
        return -errno;
    die_with(watcher->parent); /* setns(2) took the signal away */
    return 0;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
    return before > now ? before - now : 0;
}

static bool is_nearly_full(const struct statfs *start, const struct statfs *now)
{
    uint64_t block = (uint64_t)now->f_bsize;
    uint64_t half = (uint64_t)start->f_bavail * block / 2;
    uint64_t reserve = half < DISK_RESERVE ? half : DISK_RESERVE;
    return (uint64_t)now->f_bavail * block < reserve;
}

/* Whether the run may be past its limit, as far as the file system as a whole shows. */
static bool must_count(const struct watcher *watcher, const struct statfs *now)
{
    const struct statfs *then = &watcher->counted;
    const struct disk_usage bound = {
        watcher->usage.bytes + growth(then->f_bfree, now->f_bfree) * (uint64_t)now->f_bsize,
        watcher->usage.files + growth(then->f_ffree, now->f_ffree),
    };
    return watcher->counted_at == 0 || disk_usage_exceeds(&bound, &watcher->most) ||
           clock_now() - watcher->counted_at >= MILLISECONDS(DISK_COUNT_EVERY_MS);
}

/* Descriptors of the jail's processes are for its user; its directories may be closed to that user, and open to root. */
static int add_removed(struct watcher *watcher, struct disk_usage *usage)
{
    uid_t uid = watcher->watch->uid;
    if (uid != 0) { /* the group has the same number */
        syscall(SYS_setfsgid, uid);
        syscall(SYS_setfsuid, uid);
    }
    int r = disk_usage_add_removed(&watcher->jail, watcher->device, &watcher->most, usage);
    if (uid != 0) {
        syscall(SYS_setfsuid, 0);
        syscall(SYS_setfsgid, 0);
    }
    die_with(watcher->parent); /* setfsuid(2) takes the signal away */
    return r;
}

/* 0; 1: the run is past its limit; or a negative errno. */
static int count(struct watcher *watcher, const struct statfs *now)
{
    struct disk_usage usage = {0};
    watcher->counted = *now;
    int r = 0;
    for (size_t i = 0; r == 0 && i < watcher->watch->count; i++)
        r = disk_usage_add_tree(watcher->watch->directory_fds[i], &watcher->most, &usage);
    if (r == 0)
        r = add_removed(watcher, &usage);
    /* Until its execve(2), a program is as unreadable as init. */
    if (r == -EACCES && watcher->counted_at == 0)
        return -EAGAIN;
    if (r < 0)
        return r == -ELOOP ? 1 : r;
    watcher->usage = usage;
    watcher->counted_at = clock_now();
    return disk_usage_exceeds(&usage, &watcher->most);
}

/* 0; 1: a file system that the run writes to is nearly full; or a negative errno. */
static int look_at_spaces(const struct watcher *watcher)
{
    struct statfs now;
    for (size_t i = 0; i < watcher->watch->space_count; i++) {
        if (fstatfs(watcher->watch->space_fds[i], &now) < 0)
            return -errno;
        if (is_nearly_full(&watcher->spaces[i], &now))
            return 1;
    }
    return 0;
}

static int look(struct watcher *watcher)
{
    struct statfs now;
    int r = look_at_spaces(watcher);
    if (r != 0 || watcher->watch->count == 0)
        return r;
    if (fstatfs(watcher->watch->directory_fds[0], &now) < 0)
        return -errno;
    if (is_nearly_full(&watcher->start, &now))
        return 1;
    r = enter_jail(watcher);
    if (r < 0)
        return r;
    return must_count(watcher, &now) ? count(watcher, &now) : 0;
}

static void pause_after(int64_t taken_ns)
{
    int64_t pause = taken_ns < MILLISECONDS(1) ? MILLISECONDS(DISK_LOOK_EVERY_MS)
                                               : polling_rules_pause_ns(taken_ns);
    const struct timespec time = {pause / NANOSECONDS_PER_SECOND, pause % NANOSECONDS_PER_SECOND};
    nanosleep(&time, NULL);
}

static bool look_first(struct watcher *watcher)
{
    const struct disk_watch *watch = watcher->watch;
    for (size_t i = 0; i < watch->space_count; i++)
        if (fstatfs(watch->space_fds[i], &watcher->spaces[i]) < 0)
            return false;
    struct stat about;
    if (watch->count == 0)
        return true;
    if (fstatfs(watch->directory_fds[0], &watcher->start) < 0 ||
        fstat(watch->directory_fds[0], &about) < 0)
        return false;
    watcher->device = about.st_dev;
    return true;
}

static enum disk_finding watch_until_found(struct watcher *watcher)
{
    int64_t begin = clock_now();
    if (!look_first(watcher))
        return DISK_UNREADABLE;
    for (;;) {
        int64_t now = clock_now();
        int r = look(watcher);
        if (r > 0)
            return DISK_EXCEEDED;
        if (r < 0 && (r != -EAGAIN || now - begin > MILLISECONDS(UNREADABLE_MAX_MS)))
            return DISK_UNREADABLE;
        pause_after(clock_now() - now);
    }
}

static int compare(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* All but these: an end of another run's pipe, held here, would keep that pipe open. */
static void close_others(const struct disk_watch *watch, int answer_fd)
{
    int kept[DISK_DIRECTORIES_MAX + FOLDERS_MAX + 1];
    unsigned next = 0;
    size_t count = watch->count + watch->space_count;
    memcpy(kept, watch->directory_fds, watch->count * sizeof(int));
    memcpy(kept + watch->count, watch->space_fds, watch->space_count * sizeof(int));
    kept[count] = answer_fd;
    qsort(kept, count + 1, sizeof(int), compare);
    for (size_t i = 0; i <= count; i++) {
        if ((unsigned)kept[i] > next)
            syscall(SYS_close_range, next, (unsigned)kept[i] - 1, 0);
        next = (unsigned)kept[i] + 1;
    }
    syscall(SYS_close_range, next, ~0U, 0);
}

__attribute__((noreturn)) static void watch_disk(struct watcher *watcher, int answer_fd)
{
    die_with(watcher->parent);
    close_others(watcher->watch, answer_fd);
    char finding = (char)watch_until_found(watcher);
    _exit(write(answer_fd, &finding, 1) == 1 ? 0 : 1);
}

static void on_answer(struct loop_watch *answer, uint32_t events)
{
    (void)events;
    struct disk_watch *watch = container_of(answer, struct disk_watch, answer);
    char finding;
    ssize_t length = read(watch->answer_fd, &finding, 1);
    if (length < 0 && errno == EAGAIN)
        return;
    disk_watch_stop(watch);
    watch->found(watch, length == 1 && finding == DISK_EXCEEDED ? DISK_EXCEEDED : DISK_UNREADABLE);
}

int disk_watch_start(struct disk_watch *watch, struct loop *loop, pid_t init,
                     const struct run_limits *limits)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    watch->loop = loop;
    watch->answer_fd = pipe_fds[0];
    watch->answer.ready = on_answer;
    OWNED_FD int answer_fd = pipe_fds[1];
    struct watcher watcher = {
        .watch = watch,
        .init = init,
        .parent = getpid(),
        .most = {limits->disk_bytes, limits->inodes},
        .jail = PROC_USAGE_NONE,
    };
    watch->pid = fork();
    if (watch->pid == 0)
        watch_disk(&watcher, answer_fd);
    int r = watch->pid < 0 ? -errno : loop_watch(loop, &watch->answer, watch->answer_fd, EPOLLIN);
    if (r < 0)
        disk_watch_stop(watch);
    return r;
}

void disk_watch_stop(struct disk_watch *watch)
{
    if (watch->loop == NULL)
        return;
    loop_unwatch(watch->loop, &watch->answer);
    fd_close(&watch->answer_fd);
    if (watch->pid > 0) {
        kill(watch->pid, SIGKILL);
        while (waitpid(watch->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    watch->pid = 0;
    watch->loop = NULL;
}
