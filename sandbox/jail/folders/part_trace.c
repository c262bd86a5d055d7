#include "sandbox/jail/folders/part_trace.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/file_clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#define TICK_MS 11 /* the longest, with CONFIG_HZ_100 */

struct part_look {
    struct part_trace trace;
    struct trace_budget *budget;
    unsigned depth;
};

static bool is_before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec
                                        : one->tv_nsec < other->tv_nsec;
}

/* Whether somebody has it open for writing: then the kernel grants no lease for reading. A mapping counts. */
static bool may_be_written(int place_fd)
{
    char again[sizeof("/proc/self/fd/") + 10];
    snprintf(again, sizeof(again), "/proc/self/fd/%d", place_fd);
    OWNED_FD int fd = open(again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    /* Who opens it in this moment would end this program by SIGIO. */
    return fd < 0 || fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0;
}

static void look_at(struct part_look *look, int directory_fd, const char *path);

static void look_in(struct part_look *look, int place_fd)
{
    OWNED(directory_release) DIR *directory = directory_open(place_fd, ".");
    const struct dirent *entry;
    if (directory == NULL || look->depth == FOLDER_DEPTH_MAX) {
        look->trace.may_hide = true;
        return;
    }
    look->depth++;
    while (look->budget->names > 0 && (entry = directory_next(directory)) != NULL)
        look_at(look, place_fd, entry->d_name);
    look->trace.may_hide |= look->budget->names == 0;
    look->depth--;
}

static void look_at(struct part_look *look, int directory_fd, const char *path)
{
    struct part_trace *trace = &look->trace;
    struct stat about;
    if (look->budget->names == 0) {
        trace->may_hide = true;
        return;
    }
    look->budget->names--;
    OWNED_FD int fd = open_resolved(directory_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC,
                                    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    /* One that is gone has left its trace in the directory. */
    if (fd < 0 || fstat(fd, &about) < 0) {
        trace->may_hide |= fd != -ENOENT;
        return;
    }
    if (is_before(&trace->changed, &about.st_ctim))
        trace->changed = about.st_ctim;
    if (S_ISDIR(about.st_mode))
        look_in(look, fd);
    else if (S_ISREG(about.st_mode) && !trace->may_hide)
        trace->may_hide = may_be_written(fd);
}

/* Whether the next change may have the same time: that of the tick, or of a file system that counts seconds. */
static bool is_of_now(const struct timespec *changed, const struct timespec *now)
{
    bool counts_seconds = changed->tv_nsec == 0;
    return !is_before(changed, now) || (counts_seconds && changed->tv_sec == now->tv_sec);
}

/* Whether the next change is sure to have a later time. */
static bool look_at_all(int folder_fd, const char *path, struct trace_budget *budget,
                        struct part_trace *ret_trace)
{
    struct part_look look = {.budget = budget};
    struct file_clock clock;
    bool has_clock = file_clock_read(&clock, NULL) == 0;
    look_at(&look, folder_fd, path[0] != '\0' ? path : ".");
    *ret_trace = look.trace;
    return has_clock && !is_of_now(&look.trace.changed, &clock.since);
}

void part_trace_read(int folder_fd, const char *path, struct trace_budget *budget,
                     struct part_trace *ret_trace)
{
    bool is_over = look_at_all(folder_fd, path, budget, ret_trace);
    if (!is_over && !ret_trace->may_hide && budget->ticks > 0) {
        budget->ticks--;
        poll(NULL, 0, TICK_MS);
        is_over = look_at_all(folder_fd, path, budget, ret_trace);
    }
    ret_trace->may_hide |= !is_over;
}

bool part_trace_is_same(const struct part_trace *before, const struct part_trace *now)
{
    return !before->may_hide && before->changed.tv_sec == now->changed.tv_sec &&
           before->changed.tv_nsec == now->changed.tv_nsec;
}
