#include "sandbox/base/tree_copy.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SENT_AT_ONCE ((size_t)1 << 20)

static int set_owner(const struct tree_copy *copy, int fd)
{
    return copy->owner != (uid_t)-1 && fchown(fd, copy->owner, copy->owner) < 0 ? -errno : 0;
}

/* The owner first: a change of it may change the mode. */
static int set_attributes(const struct tree_copy *copy, int fd, const struct stat *about)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, about->st_mtim};
    int r = set_owner(copy, fd);
    if (r == 0 && (fchmod(fd, about->st_mode & copy->mode_mask) < 0 || futimens(fd, times) < 0))
        r = -errno;
    return r;
}

/* Counts what is copied, not what the file is said to have: it may grow meanwhile. */
static int copy_range(struct tree_copy *copy, int source, int target, off_t begin, off_t end)
{
    if (lseek(target, begin, SEEK_SET) < 0)
        return -errno;
    while (begin < end) {
        size_t length =
            (uint64_t)(end - begin) < SENT_AT_ONCE ? (size_t)(end - begin) : SENT_AT_ONCE;
        if (length > copy->bytes_left)
            return -EFBIG;
        ssize_t copied = sendfile(target, source, &begin, length);
        if (copied <= 0)
            return copied < 0 ? -errno : 0;
        copy->bytes_left -= (uint64_t)copied;
    }
    return 0;
}

/* Holes stay holes. */
static int copy_bytes(struct tree_copy *copy, int source, int target, off_t size)
{
    int r = ftruncate(target, size) < 0 ? -errno : 0;
    for (off_t end = 0; r == 0 && end < size;) {
        off_t begin = lseek(source, end, SEEK_DATA);
        if (begin < 0)
            return errno == ENXIO ? 0 : -errno; /* a hole is the rest */
        end = lseek(source, begin, SEEK_HOLE);
        r = end < 0 ? -errno : copy_range(copy, source, target, begin, end);
    }
    return r;
}

static int copy_file(struct tree_copy *copy, int source, int to, const char *name,
                     const struct stat *about)
{
    OWNED_FD int target =
        openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = target < 0 ? -errno : copy_bytes(copy, source, target, about->st_size);
    return r == 0 ? set_attributes(copy, target, about) : r;
}

static int copy_link(const struct tree_copy *copy, int from, int to, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(from, name, target, sizeof(target) - 1);
    if (length < 0)
        return -errno;
    target[length] = '\0';
    if (symlinkat(target, to, name) < 0)
        return -errno;
    return copy->owner != (uid_t)-1 &&
                   fchownat(to, name, copy->owner, copy->owner, AT_SYMLINK_NOFOLLOW) < 0
               ? -errno
               : 0;
}

static int copy_entries(struct tree_copy *copy, DIR *from, int to, unsigned depth);

static int copy_directory(struct tree_copy *copy, int source, int to, const char *name,
                          const struct stat *about, unsigned depth)
{
    if (depth > TREE_DEPTH_MAX)
        return -EFBIG;
    if (mkdirat(to, name, 0700) < 0)
        return -errno;
    OWNED(directory_release) DIR *from = directory_open(source, ".");
    OWNED_FD int target = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from == NULL || target < 0)
        return -errno;
    int r = copy_entries(copy, from, target, depth);
    return r == 0 ? set_attributes(copy, target, about) : r;
}

static int copy_opened(struct tree_copy *copy, int source, int to, const char *name, unsigned depth)
{
    struct stat about;
    if (fstat(source, &about) < 0)
        return -errno;
    if (S_ISDIR(about.st_mode))
        return copy_directory(copy, source, to, name, &about, depth);
    return S_ISREG(about.st_mode) ? copy_file(copy, source, to, name, &about) : -EINVAL;
}

/* Opened without waiting, should a FIFO have taken the place of a file. */
static int copy_entry(struct tree_copy *copy, int from, int to, const char *name, unsigned depth)
{
    struct stat about;
    if (fstatat(from, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(about.st_mode))
        return copy_link(copy, from, to, name);
    if (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return 0;
    OWNED_FD int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return source < 0 ? -errno : copy_opened(copy, source, to, name, depth);
}

static int copy_entries(struct tree_copy *copy, DIR *from, int to, unsigned depth)
{
    int fd = dirfd(from);
    int r = fd < 0 ? -errno : 0;
    for (struct dirent *entry; r == 0 && (entry = directory_next(from)) != NULL;) {
        r = copy->may_go_on != NULL ? copy->may_go_on() : 0;
        if (r == 0)
            r = copy_entry(copy, fd, to, entry->d_name, depth + 1);
    }
    return r;
}

int tree_copy_entries(struct tree_copy *copy, DIR *from, int to)
{
    return copy_entries(copy, from, to, 0);
}

int tree_copy_open(struct tree_copy *copy, int source, int to, const char *name)
{
    return copy_opened(copy, source, to, name, 1);
}
