#include "sandbox/roots/install_root.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/roots/chroot_tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define RESOLVE_PLAINLY (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)
#define DEPTH_MAX 256 /* as that of an image's tree */
#define PIECE ((size_t)1 << 20)
#define NAME_ASIDE_SIZE 48

/* As in every layer: readable by all, writable only by the owner, no set-user-ID bits. */
static int give_entry(int directory_fd, const char *name, uid_t owner, const struct stat *about)
{
    mode_t mode = (about->st_mode & 0755) | (S_ISDIR(about->st_mode) ? 0700 : 0400);
    if (about->st_uid == owner && about->st_gid == owner && (about->st_mode & 07777) == mode)
        return 0;
    if (fchownat(directory_fd, name, owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(about->st_mode) || (about->st_mode & 07777) == mode)
        return 0;
    return fchmodat(directory_fd, name, mode, 0) < 0 ? -errno : 0;
}

static int give_directory(DIR *directory, uid_t owner, unsigned depth);

/* Nothing but files, directories and links is kept. */
static int give(int directory_fd, const char *name, uid_t owner, unsigned depth)
{
    struct stat about;
    if (fstatat(directory_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode) && !S_ISLNK(about.st_mode))
        return unlinkat(directory_fd, name, 0) < 0 ? -errno : 0;
    int r = give_entry(directory_fd, name, owner, &about);
    if (r < 0 || !S_ISDIR(about.st_mode))
        return r;
    OWNED(directory_release) DIR *directory = directory_open_itself(directory_fd, name);
    return give_directory(directory, owner, depth + 1);
}

static int give_directory(DIR *directory, uid_t owner, unsigned depth)
{
    if (directory == NULL || depth > DEPTH_MAX)
        return directory == NULL ? -errno : -EFBIG;
    int fd = dirfd(directory);
    int r = fd < 0 ? -errno : 0;
    for (struct dirent *entry; r == 0 && (entry = directory_next(directory)) != NULL;)
        r = give(fd, entry->d_name, owner, depth);
    return r;
}

static int give_tree(int root_fd, uid_t owner)
{
    OWNED(directory_release) DIR *top = directory_open(root_fd, ".");
    int r = give_directory(top, owner, 0);
    return r == 0 && fchown(root_fd, owner, owner) < 0 ? -errno : r;
}

/* Opens the directory above `path`, which is relative to the root, and makes what is missing. */
static int open_above(int root_fd, const char *path, const char **ret_name)
{
    OWNED_FD int at = open_resolved(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    char part[NAME_MAX + 1];
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        size_t length = (size_t)(slash - path);
        if (length >= sizeof(part))
            return -ENAMETOOLONG;
        snprintf(part, sizeof(part), "%.*s", (int)length, path);
        if (length == 0)
            continue;
        if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
            return -errno;
        int next = open_resolved(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_PLAINLY);
        fd_close(&at);
        at = next;
    }
    *ret_name = path;
    return at < 0 ? at : fd_take(&at);
}

static int copy_file(const char *from, int directory_fd, const char *name)
{
    OWNED_FD int source = open(from, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (source < 0 || fstat(source, &about) < 0)
        return -errno;
    OWNED_FD int target =
        openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (target < 0 || fchmod(target, 0644) < 0)
        return -errno;
    ssize_t copied;
    while ((copied = sendfile(target, source, NULL, PIECE)) > 0)
        ;
    return copied < 0 ? -errno : 0;
}

static int copy_entries(DIR *from, int to);

/* A file, or a directory with all that is in it; links of the host are followed, as a bind mount does. */
static int copy_in(const char *from, int directory_fd, const char *name)
{
    OWNED(directory_release) DIR *source = directory_open(AT_FDCWD, from);
    if (source == NULL)
        return errno == ENOTDIR ? copy_file(from, directory_fd, name) : -errno;
    if (mkdirat(directory_fd, name, 0755) < 0)
        return -errno;
    OWNED_FD int to =
        open_resolved(directory_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_PLAINLY);
    return to < 0 ? to : copy_entries(source, to);
}

static int copy_entries(DIR *from, int to)
{
    char path[PATH_MAX];
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = directory_next(from)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd(from), entry->d_name);
        r = copy_in(path, to, entry->d_name);
    }
    return r;
}

/* Where the image's own is meanwhile, at the top of the tree. */
static void name_aside(size_t index, char name[NAME_ASIDE_SIZE])
{
    snprintf(name, NAME_ASIDE_SIZE, ".code-sandbox-aside-%zu", index);
}

static int show(const struct install_root *root, size_t index)
{
    const struct plan_shown *shown = &root->plan->shown[index];
    const char *name;
    char aside[NAME_ASIDE_SIZE];
    OWNED_FD int above = open_above(root->fd, shown->image_path + 1, &name);
    if (above < 0)
        return above;
    name_aside(index, aside);
    if (renameat(above, name, root->fd, aside) < 0 && errno != ENOENT)
        return -errno;
    return copy_in(shown->host_path, above, name);
}

/* Leaves what was there, or, as a mount would, an empty mount point. */
static int hide(const struct install_root *root, size_t index)
{
    const struct plan_shown *shown = &root->plan->shown[index];
    const char *name;
    char aside[NAME_ASIDE_SIZE];
    struct stat about;
    OWNED_FD int above = open_above(root->fd, shown->image_path + 1, &name);
    if (above < 0)
        return above;
    int r = tree_remove(above, name);
    name_aside(index, aside);
    if (r < 0 || renameat(root->fd, aside, above, name) == 0)
        return r;
    if (errno != ENOENT)
        return -errno;
    if (stat(shown->host_path, &about) == 0 && S_ISDIR(about.st_mode))
        return mkdirat(above, name, 0755) < 0 ? -errno : 0;
    OWNED_FD int file = openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return file < 0 ? -errno : 0;
}

int install_root_take(struct install_root *root, struct jail_plan *plan, struct fault *fault)
{
    if (plan->base != BASE_CHROOT)
        return 0;
    root->plan = plan;
    int r = spare_ids_take(&root->ids, fault);
    if (r < 0)
        return r;
    plan->own_uid = plan->own_gid = root->ids.uid;
    plan->init_uid = root->ids.init_uid;
    plan->guard_uid = root->ids.guard_uid;
    root->fd = open(plan->root_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root->fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", plan->root_path);
    r = give_tree(root->fd, root->ids.uid);
    if (r < 0)
        return fault_set(fault, -r, "cannot give the image to the user of an installer: %m");
    r = chroot_tree_renew(root->fd, plan, fault);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < plan->shown_count; i++)
        r = show(root, i);
    return r < 0 ? fault_set(fault, -r, "cannot show files of the host to an installer: %m") : 0;
}

int install_root_give_back(struct install_root *root, struct fault *fault)
{
    int r = 0;
    if (root->fd >= 0) {
        for (size_t i = root->plan->shown_count; r == 0 && i > 0;
             i--) /* one may be above another */
            r = hide(root, i - 1);
        if (r == 0)
            r = chroot_tree_bare(root->fd, root->plan);
        if (r == 0)
            r = give_tree(root->fd, 0);
    }
    fd_close(&root->fd);
    spare_ids_release(&root->ids);
    if (r == -EFBIG)
        return fault_set(
            fault, EFBIG,
            "the installed files exceed the limits of a layer: directories more than %d "
            "deep",
            DEPTH_MAX);
    return r < 0 ? fault_set(fault, -r, "cannot take the image back from an installer: %m") : 0;
}
