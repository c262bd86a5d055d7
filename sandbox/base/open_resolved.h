/*
 * Opens a path with restrictions on its resolution: openat2(2).
 *
 * Side: parent; the child has a copy of its own, since it includes only its own folder.
 */
#ifndef SANDBOX_BASE_OPEN_RESOLVED_H
#define SANDBOX_BASE_OPEN_RESOLVED_H

#include <errno.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * `flags` as for open(2), `resolve` is RESOLVE_* of openat2(2). Returns a descriptor or a negative
 * errno. Retries on EAGAIN, as openat2(2) recommends: it means that some name or mount on the
 * machine changed while a ".." was resolved.
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
