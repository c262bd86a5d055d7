#include "sandbox/base/directory.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static DIR *open_as(int parent_fd, const char *path, int flags)
{
    int fd = openat(parent_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL)
        fd_close(&fd);
    return directory;
}

DIR *directory_open(int parent_fd, const char *path)
{
    return open_as(parent_fd, path, 0);
}

DIR *directory_open_itself(int parent_fd, const char *path)
{
    return open_as(parent_fd, path, O_NOFOLLOW);
}

struct dirent *directory_next(DIR *directory)
{
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry;
    }
    return NULL;
}

const char *directory_next_number(DIR *directory)
{
    for (struct dirent *entry; (entry = directory_next(directory)) != NULL;) {
        if (entry->d_name[strspn(entry->d_name, "0123456789")] == '\0')
            return entry->d_name;
    }
    return NULL;
}

int directory_open_locked(int parent_fd, const char *name)
{
    OWNED_FD int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat held;
    struct stat named;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &held) < 0 ||
        fstatat(parent_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino ? fd_take(&fd) : -ENOENT;
}

int directory_move(int from_fd, const char *from, int to_fd, const char *to)
{
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, RENAME_NOREPLACE);
}

int directory_exchange(int parent_fd, const char *one, const char *other)
{
    return (int)syscall(SYS_renameat2, parent_fd, one, parent_fd, other, RENAME_EXCHANGE);
}

void directory_release(DIR **directory)
{
    if (*directory != NULL)
        closedir(*directory);
    *directory = NULL;
}
