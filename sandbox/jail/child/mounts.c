#include "sandbox/jail/child/mounts.h"
#include "sandbox/jail/child/proc_copies.h"
#include "sandbox/jail/child/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * <linux/mount.h> and <sys/mount.h> cannot be included together before glibc 2.37, and glibc 2.36
 * is what Debian 12 has: so this file defines the flags it needs of the old interface, and makes
 * raw system calls.
 */
#define OLD_MS_REC 0x4000
#define OLD_MS_PRIVATE (1 << 18)
#define OLD_MNT_DETACH 2
#define OLD_MS_RDONLY 1
#define OLD_MS_NOSUID 2
#define OLD_MS_NODEV 4

#define DEV_TMPFS_SIZE "65536"
#define DEV_TMPFS_INODES "64"
#define PROC_TMPFS_SIZE "4194304"
#define PROC_TMPFS_INODES "32"

int step_make_mounts_private(struct jail *jail)
{
    (void)jail;
    return syscall(SYS_mount, "none", "/", NULL, OLD_MS_REC | OLD_MS_PRIVATE, NULL) < 0 ? -errno
                                                                                        : 0;
}

int mount_restrict(int fd, uint64_t attributes, unsigned flags)
{
    struct mount_attr attr = {.attr_set = attributes, .propagation = OLD_MS_PRIVATE};
    return syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr)) < 0
               ? -errno
               : 0;
}

int mount_attach(int fd, int directory_fd, const char *path)
{
    return syscall(SYS_move_mount, fd, "", directory_fd, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno
                                                                                            : 0;
}

/* EAGAIN: a mount or a name changed somewhere while a ".." was followed; see openat2(2). */
int jail_open_inside(const struct jail *jail, const char *path, uint64_t flags)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd;
    do {
        fd = (int)syscall(SYS_openat2, jail->root_fd, path, &how, sizeof(how));
    } while (fd < 0 && errno == EAGAIN);
    return fd < 0 ? -errno : fd;
}

int mount_attach_inside(const struct jail *jail, int fd, const char *path)
{
    int place = jail_open_inside(jail, path, O_NOFOLLOW);
    if (place < 0)
        return place;
    int r = syscall(SYS_move_mount, fd, "", place, "",
                    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
                ? -errno
                : 0;
    close(place);
    return r;
}

int mount_copy(int directory_fd, const char *path, unsigned flags)
{
    int fd = (int)syscall(SYS_open_tree, directory_fd, path,
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
    return fd < 0 ? -errno : fd;
}

/*
 * Uses mount(2), because one string with all layers works on every kernel; fsconfig(2) accepts
 * strings up to 256 bytes, and single layers only since Linux 6.8. Layers never change and are
 * never replaced, so no device and inode are compared. Source: the kernel's
 * filesystems/overlayfs.rst.
 */
static int mount_layers(struct jail *jail)
{
    jail_note(jail, STEP_MOUNT_LAYERS, -1);
    const struct jail_plan *plan = jail->plan;
    unsigned long flags =
        OLD_MS_NOSUID | OLD_MS_NODEV | (plan->root_is_writable ? 0 : OLD_MS_RDONLY);
    if (syscall(SYS_mount, "overlay", ROOT_PLACE, "overlay", flags, plan->root_layers) < 0)
        return -errno;
    jail->root_fd = open(ROOT_PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return jail->root_fd < 0 ? -errno : 0;
}

int step_open_root(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    if (plan->root_layers != NULL)
        return mount_layers(jail);
    if (jail->root_fd < 0) {
        jail->root_fd = mount_copy(AT_FDCWD, plan->root_path, AT_RECURSIVE);
        if (jail->root_fd < 0)
            return jail->root_fd;
    }
    /* It must be the directory that the parent inspected, even if the path changed since. */
    struct stat status;
    if (fstat(jail->root_fd, &status) < 0)
        return -errno;
    if (status.st_dev != plan->root_device || status.st_ino != plan->root_inode)
        return -ESTALE;

    jail_note(jail, STEP_REMOUNT_ROOT_READ_ONLY, -1);
    uint64_t read_only = plan->root_is_writable ? 0 : WALL(root_read_only, MOUNT_ATTR_RDONLY);
    int r = mount_restrict(
        jail->root_fd, read_only | WALL(root_without_devices, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
        AT_RECURSIVE);
    if (r < 0)
        return r;
    jail_note(jail, STEP_OPEN_ROOT, -1);
    return mount_attach(jail->root_fd, AT_FDCWD, ROOT_PLACE);
}

int filesystem_set(int context, const char *key, const char *value)
{
    return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, value, 0) < 0 ? -errno : 0;
}

int filesystem_mount(int context, unsigned attributes)
{
    if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    int fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
    return fd < 0 ? -errno : fd;
}

/* A new, detached proc of this pid namespace. */
static int make_proc(void)
{
    int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int fd = filesystem_mount(context, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    close(context);
    return fd;
}

/* A new, detached tmpfs with limits of bytes and files. */
static int make_tmpfs(const char *size, const char *inodes, unsigned attributes)
{
    int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int fd = WALL(disk_size, filesystem_set(context, "size", size));
    if (fd == 0)
        fd = WALL(disk_inodes, filesystem_set(context, "nr_inodes", inodes));
    if (fd == 0)
        fd = filesystem_set(context, "mode", "0755");
    if (fd == 0)
        fd = filesystem_mount(context, attributes | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    close(context);
    return fd;
}

/* A detached tmpfs with copies of files of the host's /proc that tell of the machine alone. */
static int write_proc(struct jail *jail)
{
    jail->settings_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jail->settings_fd < 0)
        return -errno;
    jail->proc_fd = make_tmpfs(PROC_TMPFS_SIZE, PROC_TMPFS_INODES, MOUNT_ATTR_NOEXEC);
    if (jail->proc_fd < 0)
        return jail->proc_fd;
    return proc_copies_write(jail->settings_fd, jail->proc_fd, jail->plan->proc_copies);
}

static int make_own_proc(struct jail *jail)
{
    jail->proc_fd = make_proc();
    jail->settings_fd = jail->proc_fd;
    return jail->proc_fd < 0 ? jail->proc_fd : 0;
}

int step_make_filesystems(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = plan->proc_copies != NULL ? write_proc(jail) : make_own_proc(jail);
    if (r < 0)
        return r;
    jail_note(jail, STEP_MAKE_SCRATCH, -1);
    jail->scratch_fd = make_tmpfs(plan->scratch_size, plan->scratch_inodes, 0);
    if (jail->scratch_fd < 0)
        return jail->scratch_fd;
    jail_note(jail, STEP_MAKE_DEV, -1);
    jail->dev_fd = make_tmpfs(DEV_TMPFS_SIZE, DEV_TMPFS_INODES, MOUNT_ATTR_NOEXEC);
    return jail->dev_fd < 0 ? jail->dev_fd : 0;
}

/*
 * All writable directories are parts of one tmpfs, so that one size and one number of files bound
 * everything the program can write. open_tree(2) can copy parts only of an attached tmpfs; the
 * attached one goes away with the old root.
 */
int step_split_scratch(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = mount_attach(jail->scratch_fd, AT_FDCWD, ROOT_PLACE);
    if (r < 0)
        return r;
    for (size_t i = 0; i < plan->scratch_count; i++) {
        jail_note(jail, STEP_SPLIT_SCRATCH, (int)i);
        const struct plan_scratch *scratch = &plan->scratch[i];
        if (i >= JAIL_SCRATCH_MAX)
            return -E2BIG;
        if (mkdirat(jail->scratch_fd, scratch->name, scratch->mode) < 0)
            return -errno;
        jail->scratch_fds[i] = mount_copy(jail->scratch_fd, scratch->name, 0);
        if (jail->scratch_fds[i] < 0)
            return jail->scratch_fds[i];
        r = scratch->executable ? 0 : mount_restrict(jail->scratch_fds[i], MOUNT_ATTR_NOEXEC, 0);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A directory of that name, with a detached mount. */
static int attach_at(int directory_fd, const char *name, int fd)
{
    if (fd < 0)
        return fd;
    int r = mkdirat(directory_fd, name, 0700) < 0 ? -errno : mount_attach(fd, directory_fd, name);
    close(fd);
    return r;
}

/*
 * What the jails of forks are made of, in a tmpfs that the template's /proc covers: only who has its descriptor can reach it.
 * The image, without what is mounted there; a proc of which nothing is covered, since only then they may mount one of their
 * own, and which can be written, for their ids; and the folders.
 */
static int mount_store(struct jail *jail)
{
    jail->store_fd = make_tmpfs(PROC_TMPFS_SIZE, PROC_TMPFS_INODES, MOUNT_ATTR_NOEXEC);
    int root = mount_copy(jail->root_fd, "", AT_EMPTY_PATH | AT_RECURSIVE);
    if (jail->store_fd < 0 || root < 0)
        return jail->store_fd < 0 ? jail->store_fd : root;
    int r = mount_attach_inside(jail, jail->store_fd, "/proc");
    if (r == 0)
        r = attach_at(jail->store_fd, STORE_ROOT, root);
    if (r == 0)
        r = attach_at(jail->store_fd, STORE_PROC, make_proc());
    for (size_t i = 0; r == 0 && i < jail->plan->folder_count; i++) {
        const char name[] = {(char)('0' + i), '\0'};
        r = attach_at(jail->store_fd, name, jail->folder_fds[i]);
    }
    return r;
}

int step_mount_proc(struct jail *jail)
{
    int r = jail->plan->is_template ? mount_store(jail) : 0;
    if (r < 0)
        return r;
    return mount_attach_inside(jail, jail->proc_fd, "/proc");
}

/* Mounts a copy of a host device over a file of the same name. */
static int add_device(const struct jail *jail, const struct plan_device *device)
{
    if (mknodat(jail->dev_fd, device->name, S_IFREG | 0444, 0) < 0)
        return -errno;
    int fd = mount_copy(AT_FDCWD, device->source, 0);
    if (fd < 0)
        return fd;
    int r = mount_attach(fd, jail->dev_fd, device->name);
    close(fd);
    return r;
}

int step_fill_dev(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = mount_attach_inside(jail, jail->dev_fd, "/dev");
    if (r < 0)
        return r;
    if (mkdirat(jail->dev_fd, "shm", 0755) < 0)
        return -errno;
    for (size_t i = 0; i < plan->device_count; i++) {
        jail_note(jail, STEP_FILL_DEV, (int)i);
        r = add_device(jail, &plan->devices[i]);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < plan->dev_link_count; i++) {
        jail_note(jail, STEP_FILL_DEV, (int)(plan->device_count + i));
        const struct plan_link *link = &plan->dev_links[i];
        if (symlinkat(link->target, jail->dev_fd, link->path) < 0)
            return -errno;
    }
    return 0;
}

/*
 * Includes the device nodes. Writing to a device still works on a read-only mount; changing its
 * timestamps, which the whole host would see, does not.
 */
int step_remount_dev_read_only(struct jail *jail)
{
    return mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
                          AT_RECURSIVE);
}

int step_mask_files(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    for (size_t i = 0; plan->masks != NULL && plan->masks[i] != NULL; i++) {
        jail_note(jail, STEP_MASK_FILE, (int)i);
        const char *mask = plan->masks[i];
        bool is_directory = mask[strlen(mask) - 1] == '/';
        /* /dev/shm is still an empty directory: nothing is mounted on it yet. */
        int fd = mount_copy(jail->dev_fd, is_directory ? "shm" : "null", 0);
        if (fd < 0)
            return fd;
        int r = mount_attach(fd, jail->proc_fd, mask);
        close(fd);
        if (r < 0 && r != -ENOENT) /* this kernel does not have it: nothing to mask */
            return r;
    }
    close(jail->dev_fd);
    return 0;
}

int step_mount_scratch(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->scratch_count; i++) {
        jail_note(jail, STEP_MOUNT_SCRATCH, (int)i);
        r = mount_attach_inside(jail, jail->scratch_fds[i], plan->scratch[i].target);
        close(jail->scratch_fds[i]);
    }
    close(jail->scratch_fd);
    return r;
}

/* Creates the missing parent directories of `path`. */
static int make_parents_inside(const struct jail *jail, const char *path)
{
    char parent[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(parent))
        return -ENAMETOOLONG;
    int fd = jail_open_inside(jail, "/", O_DIRECTORY);
    for (size_t i = 1; fd >= 0 && i < length; i++) {
        if (path[i] != '/')
            continue;
        memcpy(parent, path, i);
        parent[i] = '\0';
        const char *name = parent + i;
        while (name[-1] != '/')
            name--;
        if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
            return -errno;
        close(fd);
        fd = jail_open_inside(jail, parent, O_DIRECTORY);
    }
    return fd;
}

int mount_make_place(const struct jail *jail, const char *path, bool is_directory)
{
    int place = jail_open_inside(jail, path, O_NOFOLLOW);
    if (place >= 0) {
        close(place);
        return 0;
    }
    int directory = place == -ENOENT ? make_parents_inside(jail, path) : place;
    if (directory < 0)
        return directory;
    const char *name = path + strlen(path);
    while (name[-1] != '/')
        name--;
    int r = (is_directory ? mkdirat(directory, name, 0755)
                          : mknodat(directory, name, S_IFREG | 0644, 0)) < 0
                ? -errno
                : 0;
    close(directory);
    return r;
}

/* Recursive: if more is mounted below, as in WSL, the kernel refuses to copy only a part. */
static int show_file(const struct jail *jail, const struct plan_shown *shown)
{
    int fd = mount_copy(AT_FDCWD, shown->host_path, AT_RECURSIVE);
    if (fd < 0)
        return fd;
    struct stat status;
    int r = fstat(fd, &status) < 0 ? -errno : 0;
    if (r == 0)
        r = mount_restrict(fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                           AT_RECURSIVE);
    if (r == 0)
        r = mount_make_place(jail, shown->image_path, S_ISDIR(status.st_mode));
    if (r == 0)
        r = mount_attach_inside(jail, fd, shown->image_path);
    close(fd);
    return r;
}

int step_show_files(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->shown_count; i++) {
        jail_note(jail, STEP_SHOW_FILE, (int)i);
        r = show_file(jail, &plan->shown[i]);
    }
    return r;
}

int step_pivot_root(struct jail *jail)
{
    if (fchdir(jail->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return -errno;
    /*
     * The old root is now mounted over the new one at "."; see pivot_root(2), NOTES. A ".." in a
     * symbolic link of the image could lead to it, so nothing is looked up until it is gone.
     */
    jail_note(jail, STEP_LEAVE_OLD_ROOT, -1);
    if (WALL(old_root_left, syscall(SYS_umount2, ".", OLD_MNT_DETACH) < 0) || chdir("/") < 0)
        return -errno;
    close(jail->root_fd);
    return 0;
}

/*
 * Otherwise a program could reset its oom_score_adj, and the kernel would kill the user's own
 * programs first.
 */
int step_remount_proc_read_only(struct jail *jail)
{
    int r = WALL(proc_read_only, mount_restrict(jail->proc_fd, MOUNT_ATTR_RDONLY, 0));
    if (jail->settings_fd != jail->proc_fd)
        close(jail->settings_fd);
    close(jail->proc_fd);
    return r;
}

int jail_make_parents(const char *path)
{
    char parent[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(parent))
        return -ENAMETOOLONG;
    memcpy(parent, path, length + 1);
    for (size_t i = 1; i < length; i++) {
        if (parent[i] != '/')
            continue;
        parent[i] = '\0';
        if (mkdir(parent, 0755) < 0 && errno != EEXIST)
            return -errno;
        parent[i] = '/';
    }
    return 0;
}

static int make_file(const struct plan_file *file)
{
    int r = jail_make_parents(file->path);
    if (r < 0)
        return r;
    int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  file->is_executable != 0 ? 0755 : 0644);
    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, file->bytes, file->length);
    r = written < 0 ? -errno : (size_t)written < file->length ? -ENOSPC : 0;
    close(fd);
    return r;
}

int step_fill_home(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    if (chdir(plan->home) < 0)
        return -errno;
    for (size_t i = 0; i < plan->home_link_count; i++) {
        jail_note(jail, STEP_FILL_HOME, (int)i);
        const struct plan_link *link = &plan->home_links[i];
        int r = jail_make_parents(link->path);
        if (r < 0)
            return r;
        if (symlink(link->target, link->path) < 0)
            return -errno;
    }
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->home_file_count; i++) {
        jail_note(jail, STEP_FILL_HOME, (int)(plan->home_link_count + i));
        r = make_file(&plan->home_files[i]);
    }
    return r;
}
