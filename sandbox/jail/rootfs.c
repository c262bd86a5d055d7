#include "sandbox/jail/rootfs.h"

#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/remedy.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int rootfs_open(const char *path, struct rootfs *ret_rootfs, struct fault *fault)
{
    OWNED_FD int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return fault_set(fault, errno, "cannot open the root file system %s: %m", path);
    *ret_rootfs = (struct rootfs){
        .fd = fd_take(&fd),
        .path = path,
        .device = status.st_dev,
        .inode = status.st_ino,
    };
    return 0;
}

void rootfs_close(struct rootfs *rootfs)
{
    fd_close(&rootfs->fd);
}

/* Checks that `path`, resolved inside, is an executable file. */
static int check_program(const struct rootfs *rootfs, const char *path)
{
    OWNED_FD int fd = open_resolved(rootfs->fd, path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
    struct stat status;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0)
        return -errno;
    return S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0 ? 0 : -EACCES;
}

/* What is left over, such as too many open files, says nothing of the image. */
static bool is_absence(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ELOOP;
}

static int explain_search(int error, const struct rootfs *rootfs, const char *name,
                          struct fault *fault)
{
    return fault_set(fault, -error, "cannot look for the program %.100s in %s: %m%s", name,
                     rootfs->path, error == -EMFILE ? "; raise `ulimit -n`" : "");
}

int rootfs_find_program(const struct rootfs *rootfs, const char *name, char **ret_path,
                        struct fault *fault)
{
    static const char *const directories[] = {ROOTFS_PROGRAM_DIRECTORIES};
    if (name[0] == '/') {
        int r = check_program(rootfs, name);
        if (r < 0)
            return fault_set(fault, -r, "cannot run %s in %s: %m", name, rootfs->path);
        *ret_path = strdup(name);
        return *ret_path == NULL ? fault_set(fault, ENOMEM, "out of memory") : 0;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        OWNED_MEMORY char *path = NULL;
        if (asprintf(&path, "%s/%s", directories[i], name) < 0)
            return fault_set(fault, ENOMEM, "out of memory");
        int r = check_program(rootfs, path);
        if (r < 0 && !is_absence(r))
            return explain_search(r, rootfs, name, fault);
        if (r == 0) {
            *ret_path = pointer_take(&path);
            return 0;
        }
    }
    return fault_set(fault, ENOENT,
                     "there is no program \"%s\" in the image's PATH (%s) below %s. Is this an "
                     "image for another language?",
                     name, JAIL_PATH, rootfs->path);
}

int rootfs_name_program(const struct rootfs *rootfs, const char *name, char **ret_name,
                        struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    int r = rootfs_find_program(rootfs, name, &path, NULL);
    if (r < 0)
        return is_absence(r) ? 1 : explain_search(r, rootfs, name, fault);
    OWNED_FD int fd = open_resolved(rootfs->fd, path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
    char link[sizeof("/proc/self/fd/") + 10];
    char target[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? fd : readlink(link, target, sizeof(target) - 1);
    if (length < 0)
        return fault_set(fault, fd < 0 ? -fd : errno, "cannot look at %s in %s: %m", path,
                         rootfs->path);
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    *ret_name = strdup(slash == NULL ? target : slash + 1);
    return *ret_name == NULL ? fault_set(fault, ENOMEM, "out of memory") : 0;
}

bool rootfs_names_program(const struct rootfs *rootfs, const char *name)
{
    static const char *const directories[] = {ROOTFS_PROGRAM_DIRECTORIES};
    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
        char path[PATH_MAX];
        struct stat about;
        snprintf(path, sizeof(path), "%s/%s", directories[i], name);
        OWNED_FD int fd =
            open_resolved(rootfs->fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_IN_ROOT);
        if (fd >= 0 && fstat(fd, &about) == 0 && (S_ISREG(about.st_mode) || S_ISLNK(about.st_mode)))
            return true;
    }
    return false;
}

int rootfs_detach(const char *path, int *ret_fd, struct fault *fault)
{
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                          AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (fd < 0 && errno != EPERM) {
        int error = errno;
        fault_identify(fault, "detach_root");
        return fault_set(fault, error, "cannot copy the mount of %s: %s%s", path, strerror(error),
                         remedy_clause(STEP_NAMESPACES, error).text);
    }
    *ret_fd = fd;
    return 0;
}
