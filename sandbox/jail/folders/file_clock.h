/*
 * The clock that file systems stamp changes with. Since Linux 6.13, the time of a change may be ahead of
 * CLOCK_REALTIME_COARSE by two ticks; before, all changes of one tick have the same time.
 *
 * Side: parent. Source: the kernel's Documentation/filesystems/multigrain-ts.rst.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FILE_CLOCK_H
#define SANDBOX_JAIL_FOLDERS_FILE_CLOCK_H

#include "sandbox/base/fault.h"

#include <time.h>

struct file_clock {
    struct timespec since; /* every change from now on has this time or a later one */
    struct timespec after; /* no change before now has this time or a later one */
};

/* Both are the same where each change has a time of its own. 0, or a negative errno with a fault. */
int file_clock_read(struct file_clock *ret_clock, struct fault *fault);

#endif
