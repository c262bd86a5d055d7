#include "sandbox/jail/folder_probe.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/remedy.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE "user.overlay.opaque"

int folder_probe_upper(struct fault *fault)
{
    /* A file of the kernel's own tmpfs: an ordinary user cannot mount one outside of a namespace. */
    OWNED_FD int fd = memfd_create("probe", MFD_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot make a file in memory: %m");
    if (fsetxattr(fd, ATTRIBUTE, "y", 1, 0) == 0)
        return 0;
    struct utsname kernel = {0};
    uname(&kernel);
    return fault_set(fault, EOPNOTSUPP,
                     "the tmpfs of this kernel (%s) cannot hold the upper layer of an overlay: it "
                     "needs Linux 6.6 or later with CONFIG_TMPFS_XATTR. Use the mode ro",
                     kernel.release);
}

static int write_file(const char *path, const char *text)
{
    OWNED_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* A tmpfs needs an id that is mapped. */
static int enter_namespaces(void)
{
    char uid_map[64];
    char gid_map[64];
    snprintf(uid_map, sizeof(uid_map), "0 %u 1", geteuid());
    snprintf(gid_map, sizeof(gid_map), "0 %u 1", getegid());
    if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -errno;
    int r = write_file("/proc/self/setgroups", "deny");
    if (r == 0)
        r = write_file("/proc/self/uid_map", uid_map);
    return r < 0 ? r : write_file("/proc/self/gid_map", gid_map);
}

static int make_filesystem(const char *type, const char *const (*options)[2], size_t count)
{
    OWNED_FD int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    for (size_t i = 0; i < count; i++)
        if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0) <
            0)
            return -errno;
    if (strcmp(type, "overlay") == 0 &&
        syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
        return -errno;
    if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    int fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

static int probe_in_child(enum folder_mode mode)
{
    static const char *const read_only[][2] = {{"lowerdir", "a:b"}};
    static const char *const writable[][2] = {
        {"lowerdir", "a"}, {"upperdir", "b"}, {"workdir", "c"}};
    int r = enter_namespaces();
    if (r < 0)
        return r;
    OWNED_FD int tmpfs = make_filesystem("tmpfs", NULL, 0);
    if (tmpfs < 0)
        return tmpfs;
    /* /proc is known to exist; nothing in this process needs it any more. */
    if (syscall(SYS_move_mount, tmpfs, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
        fchdir(tmpfs) < 0 || mkdir("a", 0700) < 0 || mkdir("b", 0700) < 0 || mkdir("c", 0700) < 0)
        return -errno;
    if (mode == FOLDER_WRITABLE) {
        OWNED_FD int copy =
            (int)syscall(SYS_open_tree, tmpfs, "a", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        return copy < 0 ? -errno : 0;
    }
    OWNED_FD int overlay = mode == FOLDER_OVERLAY
                               ? make_filesystem("overlay", writable, ARRAY_LENGTH(writable))
                               : make_filesystem("overlay", read_only, ARRAY_LENGTH(read_only));
    return overlay < 0 ? overlay : 0;
}

int folder_probe(enum folder_mode mode, struct fault *fault)
{
    int r = mode == FOLDER_OVERLAY ? folder_probe_upper(fault) : 0;
    if (r < 0)
        return r;
    pid_t child = fork();
    if (child == 0)
        _exit(-probe_in_child(mode));
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        return fault_set(fault, errno, "cannot start a process to try an overlay: %m");
    int error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    if (error == 0)
        return 0;
    return fault_set(fault, error, "a mount in a user namespace failed: %s; %s", strerror(error),
                     error == EPERM || error == EACCES
                         ? USERNS_HELP
                         : "it needs overlayfs and Linux 5.11 (`modprobe overlay`)");
}
