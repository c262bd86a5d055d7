#include "images/build/layer_copy.h"

#include "images/base/interrupt.h"
#include "images/unpack/member.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/base/tree_copy.h"
#include "sandbox/roots/chroot_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PIECE (64 << 10)

static int open_file(int directory_fd, const char *name)
{
    int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int go_on_unless_interrupted(void)
{
    return interrupt_signal() != 0 ? -EINTR : 0;
}

int layer_copy_open(struct layer_copy *copy, const char *store, const char *layers,
                    const char *image, struct fault *fault)
{
    const struct jail_plan merged = {
        .base = BASE_CHROOT, .root_path = store, .root_layers = layers};
    copy->image_fd = open(image, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    copy->work_fd = open(copy->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    copy->upper_fd = open(copy->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy->image_fd < 0 || copy->work_fd < 0 || copy->upper_fd < 0)
        return fault_set(fault, errno, "cannot open directories in the image store: %m");
    int r = chroot_tree_fill(copy->image_fd, &merged, fault);
    if (r < 0)
        return r;
    OWNED(directory_release) DIR *from = directory_open(copy->image_fd, ".");
    struct tree_copy way = {0755, (uid_t)-1, TREE_BYTES_MAX, go_on_unless_interrupted};
    r = from != NULL ? tree_copy_entries(&way, from, copy->work_fd) : -errno;
    if (r == -EINTR)
        return interrupt_fault(fault);
    return r < 0 ? fault_set(fault, -r, "cannot copy the image: %m") : 0;
}

static int empty(int directory_fd)
{
    OWNED(directory_release) DIR *directory = directory_open(directory_fd, ".");
    int r = directory != NULL ? 0 : -errno;
    for (struct dirent *entry; r == 0 && (entry = directory_next(directory)) != NULL;)
        r = tree_remove(directory_fd, entry->d_name);
    return r;
}

int layer_copy_merge(struct layer_copy *copy, struct fault *fault)
{
    const struct jail_plan added = {.base = BASE_CHROOT, .root_path = copy->upper};
    int r = chroot_tree_fill(copy->work_fd, &added, fault);
    if (r < 0)
        return r;
    r = empty(copy->upper_fd);
    return r < 0 ? fault_set(fault, -r, "cannot empty %s: %m", copy->upper) : 0;
}

/* Of two files with the same size. 1: the same bytes; 0: others; or a negative errno. */
static int compare_bytes(int one, int other)
{
    char bytes[2][PIECE];
    for (;;) {
        ssize_t got = read(one, bytes[0], PIECE);
        ssize_t same = read(other, bytes[1], PIECE);
        if (got < 0 || same < 0)
            return -errno;
        if (got != same || memcmp(bytes[0], bytes[1], (size_t)got) != 0)
            return 0;
        if (got == 0)
            return 1;
    }
}

static int compare_files(int image, int work, const char *name)
{
    OWNED_FD int one = open_file(image, name);
    OWNED_FD int other = open_file(work, name);
    return one < 0 || other < 0 ? -errno : compare_bytes(one, other);
}

static bool is_same_link(int image, int work, const char *name)
{
    char one[PATH_MAX], other[PATH_MAX];
    ssize_t length = readlinkat(image, name, one, sizeof(one));
    return length >= 0 && readlinkat(work, name, other, sizeof(other)) == length &&
           memcmp(one, other, (size_t)length) == 0;
}

/* What is no directory. 1: the image has the same; 0: it has not; or a negative errno. */
static int has_same(int image, int work, const char *name, const struct stat *about)
{
    struct stat before;
    if (fstatat(image, name, &before, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if ((before.st_mode & S_IFMT) != (about->st_mode & S_IFMT))
        return 0;
    if (S_ISLNK(about->st_mode))
        return is_same_link(image, work, name);
    if (!S_ISREG(about->st_mode))
        return 1;
    if (before.st_size != about->st_size || (before.st_mode & 0755) != (about->st_mode & 0755) ||
        before.st_mtim.tv_sec != about->st_mtim.tv_sec)
        return 0;
    return compare_files(image, work, name);
}

/* A directory of the upper one, made when the first thing is put into it. */
struct upper {
    struct upper *parent; /* NULL: the top */
    const char *name;
    mode_t mode;
    int fd; /* -1: not made yet */
};

static int need_upper(struct upper *upper)
{
    if (upper->fd >= 0)
        return 0;
    if (upper->parent == NULL)
        return -EBADF;
    int r = need_upper(upper->parent);
    if (r < 0)
        return r;
    if (mkdirat(upper->parent->fd, upper->name, upper->mode & 0755) < 0)
        return -errno;
    upper->fd =
        openat(upper->parent->fd, upper->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return upper->fd < 0 || fchmod(upper->fd, upper->mode & 0755) < 0 ? -errno : 0;
}

static int take_directory(int image, int work, struct upper *upper, unsigned depth);

static int take_entry(int image, int work, const char *name, struct upper *upper, unsigned depth)
{
    struct stat about, before;
    if (fstatat(work, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISDIR(about.st_mode) && image >= 0 &&
        fstatat(image, name, &before, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(before.st_mode)) {
        struct upper below = {upper, name, about.st_mode, -1};
        OWNED_FD int image_below =
            openat(image, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        OWNED_FD int work_below =
            openat(work, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r = image_below < 0 || work_below < 0                   ? -errno
                : (before.st_mode & 0755) != (about.st_mode & 0755) ? need_upper(&below)
                                                                    : 0;
        if (r == 0)
            r = take_directory(image_below, work_below, &below, depth + 1);
        fd_close(&below.fd);
        return r;
    }
    int r = S_ISDIR(about.st_mode) || image < 0 ? 0 : has_same(image, work, name, &about);
    if (r != 0)
        return r < 0 ? r : 0;
    r = need_upper(upper);
    return r == 0 && renameat(work, name, upper->fd, name) < 0 ? -errno : r;
}

/* For what the image has, and the copy has no more. */
static int mark_absent(int image, int work, struct upper *upper)
{
    OWNED(directory_release) DIR *before = directory_open(image, ".");
    int r = before != NULL ? 0 : -errno;
    struct stat about;
    for (struct dirent *entry; r == 0 && (entry = directory_next(before)) != NULL;) {
        const char *name = entry->d_name;
        bool is_there = fstatat(work, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
        if (!is_there && errno == ENOENT && upper->fd >= 0) /* moved, to take the place of that */
            is_there = fstatat(upper->fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
        if (is_there)
            continue;
        r = errno == ENOENT ? need_upper(upper) : -errno;
        if (r == 0 && mknodat(upper->fd, name, S_IFCHR, makedev(0, 0)) < 0)
            r = -errno;
    }
    return r;
}

static int take_directory(int image, int work, struct upper *upper, unsigned depth)
{
    if (depth > TREE_DEPTH_MAX)
        return -EFBIG;
    OWNED(directory_release) DIR *now = directory_open(work, ".");
    int r = now != NULL ? 0 : -errno;
    for (struct dirent *entry; r == 0 && (entry = directory_next(now)) != NULL;)
        r = take_entry(image, work, entry->d_name, upper, depth);
    return r == 0 ? mark_absent(image, work, upper) : r;
}

int layer_copy_take(struct layer_copy *copy, struct fault *fault)
{
    struct upper top = {.fd = copy->upper_fd};
    int r = take_directory(copy->image_fd, copy->work_fd, &top, 0);
    return r < 0 ? fault_set(fault, -r, "cannot tell what the installers have changed: %m") : 0;
}

void layer_copy_release(struct layer_copy *copy)
{
    fd_close(&copy->image_fd);
    fd_close(&copy->work_fd);
    fd_close(&copy->upper_fd);
}
