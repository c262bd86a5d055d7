#include "interpreter/changes/entry.h"

#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* O_NONBLOCK and O_NOCTTY: what takes a file's place must not block or have any other effect. */
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define RESOLVE_FLAGS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

static enum entry_kind kind_of(const struct stat *about)
{
    switch (about->st_mode & S_IFMT) {
    case S_IFREG:
        return ENTRY_FILE;
    case S_IFLNK:
        return ENTRY_LINK;
    case S_IFDIR:
        return ENTRY_DIRECTORY;
    case S_IFSOCK:
        return ENTRY_SOCKET;
    case S_IFIFO:
        return ENTRY_FIFO;
    case S_IFCHR:
        return about->st_rdev == makedev(0, 0) ? ENTRY_WHITEOUT : ENTRY_DEVICE;
    default:
        return ENTRY_DEVICE;
    }
}

struct entry entry_look(int directory_fd, const char *name)
{
    struct entry entry = {.kind = ENTRY_NONE};
    if (directory_fd < 0 || fstatat(directory_fd, name, &entry.about, AT_SYMLINK_NOFOLLOW) < 0)
        return entry;
    entry.kind = kind_of(&entry.about);
    return entry;
}

/* Only the owner of a file may leave its time of access as it is. */
static int open_quietly(int directory_fd, const char *name, uint64_t flags)
{
    int fd = open_resolved(directory_fd, name, OPEN_FLAGS | O_NOATIME | flags, RESOLVE_FLAGS);
    return fd == -EPERM ? open_resolved(directory_fd, name, OPEN_FLAGS | flags, RESOLVE_FLAGS) : fd;
}

int entry_open_directory(int directory_fd, const char *name)
{
    return open_quietly(directory_fd, name, O_DIRECTORY);
}

bool entry_is_opaque(int directory_fd)
{
    char value = 0;
    return fgetxattr(directory_fd, "user.overlay.opaque", &value, sizeof(value)) == 1 &&
           value == 'y';
}

bool entry_is_readable(const struct entry *entry)
{
    mode_t needed = entry->kind == ENTRY_DIRECTORY ? S_IRUSR | S_IXUSR : S_IRUSR;
    return entry->kind == ENTRY_LINK || (entry->about.st_mode & needed) == needed;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_mode == other->st_mode && one->st_size == other->st_size &&
           one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
           one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* 0 with fewer bytes at the end of the file, or a negative errno. */
static int read_bytes(int fd, char *bytes, size_t size, size_t *ret_length)
{
    size_t length = 0;
    while (length < size) {
        ssize_t count = read(fd, bytes + length, size - length);
        if (count < 0 && errno != EINTR)
            return -errno;
        if (count == 0)
            break;
        length += count > 0 ? (size_t)count : 0;
    }
    *ret_length = length;
    return 0;
}

static int read_file(int directory_fd, const char *name, const struct entry *entry,
                     struct file_version *version)
{
    OWNED_FD int fd = open_quietly(directory_fd, name, 0);
    struct stat about;
    if (fd < 0)
        return fd == -ELOOP || fd == -ENOENT ? -EAGAIN : fd;
    if (fstat(fd, &about) < 0 || !is_same(&about, &entry->about))
        return -EAGAIN;
    size_t size = (size_t)about.st_size;
    version->mode = about.st_mode & S_IXUSR ? MODE_PROGRAM : MODE_FILE;
    version->bytes = size > 0 ? malloc(size) : NULL;
    if (size > 0 && version->bytes == NULL)
        return -ENOMEM;
    int r = read_bytes(fd, version->bytes, size, &version->size);
    if (r == 0 &&
        (version->size < size || fstat(fd, &about) < 0 || !is_same(&about, &entry->about)))
        r = -EAGAIN;
    return r;
}

static int read_link(int directory_fd, const char *name, struct file_version *version)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(directory_fd, name, target, sizeof(target));
    if (length < 0)
        return errno == EINVAL || errno == ENOENT ? -EAGAIN : -errno;
    if (length == 0 || length == sizeof(target))
        return -EFBIG;
    version->bytes = malloc((size_t)length);
    if (version->bytes == NULL)
        return -ENOMEM;
    memcpy(version->bytes, target, (size_t)length);
    version->mode = MODE_LINK;
    version->size = (size_t)length;
    return 0;
}

int entry_read(int directory_fd, const char *name, const struct entry *entry,
               struct file_version *ret_version)
{
    if (entry->kind == ENTRY_FILE &&
        (entry->about.st_size < 0 || (uint64_t)entry->about.st_size > CHANGES_FILE_MAX))
        return -EFBIG;
    OWNED(version_release) struct file_version version = VERSION_ABSENT;
    int r = entry->kind == ENTRY_LINK ? read_link(directory_fd, name, &version)
                                      : read_file(directory_fd, name, entry, &version);
    if (r < 0)
        return r;
    *ret_version = version;
    version = VERSION_ABSENT;
    return 0;
}

bool entry_is_copy(int directory_fd, const char *name)
{
    OWNED_FD int fd = open_quietly(directory_fd, name, 0);
    /* Empty where the file system of the folder has no file handles. */
    return fd >= 0 && fgetxattr(fd, "user.overlay.origin", NULL, 0) >= 0;
}
