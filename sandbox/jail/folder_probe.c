#include "sandbox/jail/folder_probe.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
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

int folder_probe_tmpfs(struct fault *fault)
{
    /* A file of the kernel's own tmpfs: an ordinary user cannot mount one outside of a namespace. */
    OWNED_FD int fd = memfd_create("probe", MFD_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot make a file in memory: %m");
    if (fsetxattr(fd, ATTRIBUTE, "y", 1, 0) == 0)
        return 0;
    struct utsname kernel = {0};
    uname(&kernel);
    return fault_set(
        fault, EOPNOTSUPP,
        "the tmpfs of this kernel (%s) keeps no attributes of overlays, as it does from "
        "Linux 6.6 on with CONFIG_TMPFS_XATTR",
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

/* Changes to a place for the layers: a new tmpfs, or the directory. */
static int enter_place(const char *directory)
{
    if (directory != NULL)
        return chdir(directory) < 0 ? -errno : 0;
    OWNED_FD int tmpfs = make_filesystem("tmpfs", NULL, 0);
    if (tmpfs < 0)
        return tmpfs;
    /* /proc is known to exist; nothing in this process needs it any more. */
    if (syscall(SYS_move_mount, tmpfs, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
        fchdir(tmpfs) < 0)
        return -errno;
    return 0;
}

static int probe_bind(void)
{
    OWNED_FD int copy =
        (int)syscall(SYS_open_tree, AT_FDCWD, "a", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return copy < 0 ? -errno : 0;
}

static int probe_read_only(void)
{
    static const char *const options[][2] = {{"lowerdir", "a:b"}};
    OWNED_FD int overlay = make_filesystem("overlay", options, ARRAY_LENGTH(options));
    return overlay < 0 ? overlay : 0;
}

/* A removed directory leaves a whiteout; one made in its place needs an attribute. */
static int probe_overlay(void)
{
    static const char *const options[][2] = {
        {"lowerdir", "a"}, {"upperdir", "b"}, {"workdir", "c"}};
    if (mkdir("a/d", 0700) < 0)
        return -errno;
    OWNED_FD int overlay = make_filesystem("overlay", options, ARRAY_LENGTH(options));
    if (overlay < 0)
        return overlay;
    return unlinkat(overlay, "d", AT_REMOVEDIR) < 0 || mkdirat(overlay, "d", 0700) < 0 ? -errno : 0;
}

static int probe_in_child(enum folder_mode mode, const char *directory)
{
    int r = enter_namespaces();
    if (r == 0)
        r = enter_place(directory);
    if (r < 0)
        return r;
    if (mkdir("a", 0700) < 0 || mkdir("b", 0700) < 0 || mkdir("c", 0700) < 0)
        return -errno;
    if (mode == FOLDER_WRITABLE)
        return probe_bind();
    return mode == FOLDER_OVERLAY ? probe_overlay() : probe_read_only();
}

static int probe(enum folder_mode mode, const char *directory, struct fault *fault)
{
    pid_t child = fork();
    if (child == 0)
        _exit(-probe_in_child(mode, directory));
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        return fault_set(fault, errno, "cannot start a process to try an overlay: %m");
    int error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    if (error == 0)
        return 0;
    const struct remedy_clause remedy = remedy_clause(STEP_PRIVATE_MOUNTS, error);
    return fault_set(fault, error, "a mount in a user namespace failed: %s%s", strerror(error),
                     remedy.text[0] != '\0'
                         ? remedy.text
                         : "; it needs overlayfs and Linux 5.11 (`modprobe overlay`)");
}

/* A directory of its own below the given one, which is removed again. */
static int probe_below(const char *directory, struct fault *fault)
{
    OWNED_MEMORY char *place = NULL;
    if (asprintf(&place, "%s/probe-XXXXXX", directory) < 0) {
        place = NULL;
        return fault_set(fault, ENOMEM, "out of memory for a path");
    }
    if (mkdtemp(place) == NULL)
        return fault_set(fault, errno, "cannot make a directory there: %m");
    int r = probe(FOLDER_OVERLAY, place, fault);
    tree_remove(AT_FDCWD, place);
    return r;
}

int folder_probe(enum folder_mode mode, const char *directory, struct fault *fault)
{
    return mode == FOLDER_OVERLAY && directory != NULL ? probe_below(directory, fault)
                                                       : probe(mode, NULL, fault);
}
