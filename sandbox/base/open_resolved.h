/*
 * Opening what a path leads to, with bounds on where it may lead: openat2(2).
 *
 * Side: parent; the child has its own, since it includes nothing but its own folder.
 */
#ifndef SANDBOX_BASE_OPEN_RESOLVED_H
#define SANDBOX_BASE_OPEN_RESOLVED_H

#include <errno.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * `flags` are of open(2), `resolve` RESOLVE_* of openat2(2). A descriptor, or a negative errno; never -EAGAIN,
 * by which the kernel says that somewhere on the machine a name or a mount changed while a ".." was followed.
 * Then it is asked again, as the man page has it.
 */
static inline int open_resolved(int directory_fd, const char *path, uint64_t flags,
                                uint64_t resolve)
{
    const struct open_how how = {.flags = flags, .resolve = resolve};
    long fd;
    do {
        fd = syscall(SYS_openat2, directory_fd, path, &how, sizeof(how));
    } while (fd < 0 && errno == EAGAIN);
    return fd < 0 ? -errno : (int)fd;
}

#endif
