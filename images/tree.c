#include "images/tree.h"

#include "sandbox/base/owned.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static void directory_close(DIR **directory)
{
    if (*directory != NULL)
        closedir(*directory);
}

/* Opens a directory to read its entries, never through a link. 0 or a negative errno. */
static int directory_open(int parent_fd, const char *name, DIR **ret_directory)
{
    OWNED_FD int fd =
        openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    DIR *directory = fdopendir(fd);
    if (directory == NULL)
        return -errno;
    fd_take(&fd);
    *ret_directory = directory;
    return 0;
}

/* The next entry but "." and ".."; NULL at the end. */
static struct dirent *directory_next(DIR *directory)
{
    struct dirent *entry;
    do
        entry = readdir(directory);
    while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry;
}

/* Empties a directory; its owner may always give himself access first. */
static int directory_empty(int parent_fd, const char *name)
{
    struct stat status;
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode) && (status.st_mode & 0700) != 0700 &&
        fchmodat(parent_fd, name, 0700, 0) < 0)
        return -errno;
    OWNED(directory_close) DIR *directory = NULL;
    int r = directory_open(parent_fd, name, &directory);
    if (r < 0)
        return r;
    struct dirent *entry;
    while ((entry = directory_next(directory)) != NULL) {
        int failed = tree_remove(dirfd(directory), entry->d_name);
        if (failed < 0 && r == 0)
            r = failed;
    }
    return r;
}

int tree_remove(int directory_fd, const char *name)
{
    if (unlinkat(directory_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    int r = directory_empty(directory_fd, name);
    if (unlinkat(directory_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return r < 0 ? r : -errno;
    return r == -ENOENT ? 0 : r;
}

static int measure(int parent_fd, const char *name, struct tree_size *size)
{
    OWNED(directory_close) DIR *directory = NULL;
    int r = directory_open(parent_fd, name, &directory);
    if (r < 0)
        return r;
    struct dirent *entry;
    while ((entry = directory_next(directory)) != NULL) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        size->files++;
        uint64_t bytes = (uint64_t)status.st_blocks * 512;
        size->bytes += S_ISDIR(status.st_mode) ? bytes : bytes / status.st_nlink;
        if (!S_ISDIR(status.st_mode))
            continue;
        r = measure(dirfd(directory), entry->d_name, size);
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
