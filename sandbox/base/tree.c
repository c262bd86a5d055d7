#include "sandbox/base/tree.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The tree may be deeper than descriptors or stack allow, so directories deep down are moved up, and removed there. Never
 * above LANDING_DEPTH: the tree may hold the root directory of a jail (chroot(2)), and if a process of that is alive, a
 * directory moved out of that root takes it along.
 */
struct removal {
    int landing_fd; /* borrowed: where directories are moved to; -1: not that deep */
    unsigned depth;
    unsigned moved; /* directories, which have numbers for names */
};

#define REMOVAL_DEPTH_MAX 64
#define LANDING_DEPTH 32

static int entry_remove(struct removal *removal, int directory_fd, const char *name);

static bool has_proc(void)
{
    return access("/proc/self/fd", F_OK) == 0;
}

/*
 * Gives the owner access to a directory. A process may put a link into its place meanwhile: not followed, but where
 * neither Linux 6.6 nor a /proc helps, as in a jail of ours, where nobody else is.
 */
static int directory_permit(int parent_fd, const char *name)
{
    int r = fchmodat(parent_fd, name, 0700, AT_SYMLINK_NOFOLLOW);
    return r < 0 && errno == EOPNOTSUPP && !has_proc() ? fchmodat(parent_fd, name, 0700, 0) : r;
}

/*
 * Moves a directory up; false: failed. Needs write permission on the directory, because its ".."
 * changes.
 */
static bool directory_move_up(struct removal *removal, int parent_fd, const char *name)
{
    char aside[48];
    if (directory_permit(parent_fd, name) < 0)
        return false;
    do { /* the tree may have such names itself */
        snprintf(aside, sizeof(aside), ".code-sandbox-removed-%u", removal->moved++);
        if (directory_move(parent_fd, name, removal->landing_fd, aside) == 0)
            return true;
    } while (errno == EEXIST);
    return false;
}

/* Empties a directory, first giving the owner access to it. */
static int directory_empty(struct removal *removal, int parent_fd, const char *name)
{
    struct stat status;
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode) && (status.st_mode & 0700) != 0700 &&
        directory_permit(parent_fd, name) < 0)
        return -errno;
    OWNED(directory_release) DIR *directory = directory_open_itself(parent_fd, name);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd < 0)
        return -errno;
    bool is_landing = removal->depth == LANDING_DEPTH;
    if (is_landing)
        removal->landing_fd = fd;
    int r = 0;
    unsigned moved;
    do {
        moved = removal->moved;
        rewinddir(directory);
        struct dirent *entry;
        while ((entry = directory_next(directory)) != NULL) {
            int failed = entry_remove(removal, fd, entry->d_name);
            if (failed < 0 && r == 0)
                r = failed;
        }
    } while (is_landing && removal->moved > moved);
    return r;
}

static int entry_remove(struct removal *removal, int directory_fd, const char *name)
{
    if (unlinkat(directory_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    if (removal->depth == REMOVAL_DEPTH_MAX && directory_move_up(removal, directory_fd, name))
        return 0;
    removal->depth++;
    int r = directory_empty(removal, directory_fd, name);
    removal->depth--;
    if (unlinkat(directory_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return r < 0 ? r : -errno;
    return r == -ENOENT ? 0 : r;
}

int tree_remove(int directory_fd, const char *name)
{
    struct removal removal = {.landing_fd = -1};
    return entry_remove(&removal, directory_fd, name);
}

static int measure(int parent_fd, const char *name, struct tree_size *size)
{
    OWNED(directory_release) DIR *directory = directory_open_itself(parent_fd, name);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd < 0)
        return -errno;
    struct dirent *entry;
    while ((entry = directory_next(directory)) != NULL) {
        struct stat status;
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        size->files++;
        uint64_t bytes = (uint64_t)status.st_blocks * 512;
        size->bytes += S_ISDIR(status.st_mode) ? bytes : bytes / status.st_nlink;
        if (!S_ISDIR(status.st_mode))
            continue;
        int r = measure(fd, entry->d_name, size);
        if (r < 0)
            return r;
    }
    return 0;
}

int tree_measure(int directory_fd, const char *name, struct tree_size *ret_size)
{
    struct tree_size size = {0};
    int r = measure(directory_fd, name, &size);
    if (r == 0)
        *ret_size = size;
    return r;
}
