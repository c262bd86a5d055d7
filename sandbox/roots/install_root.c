#include "sandbox/roots/install_root.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/base/tree_copy.h"
#include "sandbox/roots/chroot_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RESOLVE_AS_JAILED (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)
#define SHOWN_BYTES_MAX (UINT64_C(16) << 30) /* those who name the files have bounds of their own */
#define END_POLLS 250
#define END_POLL_NS 20000000
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
    return fchmodat(directory_fd, name, mode, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
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
    if (directory == NULL || depth > TREE_DEPTH_MAX)
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

/* The directory at the first `length` bytes of `path`, made if it is missing in `parent_fd`. */
static int provide_directory(int root_fd, const char *path, size_t length, int parent_fd)
{
    char prefix[PATH_MAX];
    if (length >= sizeof(prefix))
        return -ENAMETOOLONG;
    snprintf(prefix, sizeof(prefix), "%.*s", (int)length, path);
    const char *slash = strrchr(prefix, '/');
    if (mkdirat(parent_fd, slash != NULL ? slash + 1 : prefix, 0755) < 0 && errno != EEXIST)
        return -errno;
    return open_resolved(root_fd, prefix, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_AS_JAILED);
}

/* Opens the directory above `path`, which is relative to the root, and makes what is missing. */
static int open_above(int root_fd, const char *path)
{
    OWNED_FD int at = open_resolved(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    for (const char *slash = path; at >= 0 && (slash = strchr(slash, '/')) != NULL; slash++) {
        int next = provide_directory(root_fd, path, (size_t)(slash - path), at);
        fd_close(&at);
        at = next;
    }
    return at < 0 ? at : fd_take(&at);
}

static const char *last_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Where the image's own is meanwhile, at the top of the tree. */
static void name_aside(size_t index, char name[NAME_ASIDE_SIZE])
{
    snprintf(name, NAME_ASIDE_SIZE, ".code-sandbox-aside-%zu", index);
}

/* For the installer alone: it may be a password of a registry. Links of the host are followed to it, as by a bind mount. */
static int show(struct install_root *root, const struct plan_shown *shown)
{
    char aside[NAME_ASIDE_SIZE];
    struct tree_copy copy = {
        .mode_mask = 0700, .owner = root->ids.uid, .bytes_left = SHOWN_BYTES_MAX};
    OWNED_FD int source = open(shown->host_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (source < 0)
        return -errno;
    OWNED_FD int above = open_above(root->fd, shown->image_path + 1);
    if (above < 0)
        return above;
    name_aside(root->shown_count, aside);
    const char *name = last_name(shown->image_path);
    if (renameat(above, name, root->fd, aside) < 0 && errno != ENOENT)
        return -errno;
    int to = root->above[root->shown_count++] = fd_take(&above);
    return tree_copy_open(&copy, source, to, name);
}

/* Leaves what was there, or, as a mount would, an empty mount point. */
static int hide(const struct install_root *root, size_t index)
{
    const struct plan_shown *shown = &root->plan->shown[index];
    const char *name = last_name(shown->image_path);
    int above = root->above[index];
    char aside[NAME_ASIDE_SIZE];
    struct stat about;
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

static int show_all(struct install_root *root)
{
    const struct jail_plan *plan = root->plan;
    root->above = calloc(plan->shown_count + 1, sizeof(*root->above));
    int r = root->above != NULL ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < plan->shown_count; i++)
        r = show(root, &plan->shown[i]);
    return r;
}

/* The last first: one may be above another. */
static int hide_all(struct install_root *root)
{
    int r = 0;
    for (; root->shown_count > 0; root->shown_count--) {
        if (r == 0)
            r = hide(root, root->shown_count - 1);
        fd_close(&root->above[root->shown_count - 1]);
    }
    free(root->above);
    root->above = NULL;
    return r;
}

/* A process that is killed can take a moment to go. */
static int await_end(const struct spare_ids *ids)
{
    const struct timespec pause = {.tv_nsec = END_POLL_NS};
    for (unsigned polls = 0; spare_ids_have_process(ids); polls++) {
        if (polls == END_POLLS)
            return -EBUSY;
        nanosleep(&pause, NULL);
    }
    return 0;
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
    r = show_all(root);
    return r < 0 ? fault_set(fault, -r, "cannot show files of the host to an installer: %m") : 0;
}

int install_root_give_back(struct install_root *root, struct fault *fault)
{
    int r = root->fd >= 0 ? await_end(&root->ids) : 0;
    int hidden = hide_all(root);
    if (r == 0)
        r = hidden;
    if (r == 0 && root->fd >= 0)
        r = chroot_tree_bare(root->fd, root->plan);
    if (r == 0 && root->fd >= 0)
        r = give_tree(root->fd, 0);
    fd_close(&root->fd);
    spare_ids_release(&root->ids);
    if (r == -EFBIG)
        return fault_set(
            fault, EFBIG,
            "the installed files exceed the limits of a layer: directories more than %d "
            "deep",
            TREE_DEPTH_MAX);
    return r < 0 ? fault_set(fault, -r, "cannot take the image back from an installer: %m") : 0;
}
