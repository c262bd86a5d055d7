#include "sandbox/jail/folders/file_clock.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NANOSECONDS 1000000000L

static bool is_before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec
                                        : one->tv_nsec < other->tv_nsec;
}

/* The time of a change made now, to a file whose time was looked at before: that makes it exact. */
static int change_time(struct timespec *ret_time)
{
    struct stat about;
    OWNED_FD int fd = memfd_create("clock", MFD_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0 || fchmod(fd, about.st_mode & 07777) < 0 ||
        fstat(fd, &about) < 0)
        return -errno;
    *ret_time = about.st_ctim;
    return 0;
}

int file_clock_read(struct file_clock *ret_clock, struct fault *fault)
{
    struct file_clock clock;
    struct timespec coarse;
    int r = change_time(&clock.since);
    if (r < 0)
        return fault_set(fault, -r, "cannot read the clock of file times: %m");
    clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
    clock.after = clock.since;
    if (!is_before(&coarse, &clock.since)) { /* of a tick */
        clock.after.tv_nsec++;
        if (clock.after.tv_nsec == NANOSECONDS)
            clock.after = (struct timespec){.tv_sec = clock.after.tv_sec + 1};
    }
    *ret_clock = clock;
    return 0;
}
