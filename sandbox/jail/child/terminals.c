/* Pseudo-terminals of the jail's own: an instance of devpts that nobody else has, with few of them. */
#include "sandbox/jail/child/mounts.h"

#include <errno.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel has 4096 for all, and charges no cgroup for their buffers: at most 128 KiB each. */
#define TERMINALS_MAX "16"

/* Source: the kernel's filesystems/devpts.rst. Since Linux 4.7 each mount is an instance of its own. */
static int make_devpts(void)
{
    int context = (int)syscall(SYS_fsopen, "devpts", FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int r = filesystem_set(context, "ptmxmode", "0666");
    if (r == 0)
        r = filesystem_set(context, "mode", "0600");
    if (r == 0)
        r = filesystem_set(context, "max", TERMINALS_MAX);
    if (r == 0)
        r = filesystem_mount(context, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    close(context);
    return r;
}

int step_make_terminals(struct jail *jail)
{
    if (mkdirat(jail->dev_fd, "pts", 0755) < 0 || symlinkat("pts/ptmx", jail->dev_fd, "ptmx") < 0)
        return -errno;
    int fd = make_devpts();
    if (fd < 0)
        return fd == -ENODEV
                   ? 0
                   : fd; /* a kernel without pseudo-terminals: the directory stays empty */
    int r = mount_attach(fd, jail->dev_fd, "pts");
    close(fd);
    return r;
}
