/*
 * A jail without namespaces, for root in a container that refuses them: a directory of its own as the root,
 * and three ids that nobody else has. The program has one of them. Init and the guard have it as their effective
 * id, so that they can signal the program, and all files are the program's. Whom else a process may signal depends on its
 * real id, and on the real and the saved one of the other: credentials(7), kill(2). So nobody below reaches those above:
 *
 *              real    effective    saved
 *     guard    guard   program      guard
 *     init     init    program      guard
 *     program  program program      program
 */
#include "sandbox/jail/child/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int step_open_chroot(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    struct stat status;
    jail->root_fd = open(plan->root_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (jail->root_fd < 0 || fstat(jail->root_fd, &status) < 0)
        return -errno;
    return status.st_dev == plan->root_device && status.st_ino == plan->root_inode ? 0 : -ESTALE;
}

int step_enter_chroot(struct jail *jail)
{
    if (fchdir(jail->root_fd) < 0 || syscall(SYS_chroot, ".") < 0 || chdir("/") < 0)
        return -errno;
    close(jail->root_fd);
    return 0;
}

int step_enter_tree(struct jail *jail)
{
    int r = fchdir(jail->root_fd) < 0 ? -errno : 0;
    close(jail->root_fd);
    return r;
}

int step_take_own_ids(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    gid_t gid = plan->own_gid;
    umask(0);
    if (syscall(SYS_setgroups, 0, NULL) < 0)
        return -errno;
    if (plan->own_uid == 0)
        return (plan->kind & JAIL_PROGRAM) != 0 ? -EINVAL : 0;
    /* Raw system calls: glibc's wrappers would signal threads that exist only in the parent. */
    if (syscall(SYS_setresgid, gid, gid, gid) < 0 ||
        syscall(SYS_setresuid, plan->guard_uid, plan->own_uid, plan->init_uid) < 0)
        return -errno;
    return 0;
}

int jail_take_guard_ids(const struct jail_plan *plan)
{
    uid_t guard = plan->guard_uid;
    return syscall(SYS_setresuid, guard, plan->own_uid, guard) < 0 ? -errno : 0;
}

int jail_take_init_ids(const struct jail_plan *plan)
{
    return syscall(SYS_setresuid, plan->init_uid, plan->own_uid, plan->guard_uid) < 0 ? -errno : 0;
}

int jail_take_program_ids(const struct jail_plan *plan)
{
    uid_t uid = plan->own_uid;
    return syscall(SYS_setresuid, uid, uid, uid) < 0 ? -errno : 0;
}
