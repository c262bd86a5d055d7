#include "sandbox/upper_store.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define SERVER_PREFIX "server-"

/* What cannot be removed now is left to the next server. */
static void sweep(int directory_fd)
{
    OWNED(directory_release) DIR *servers = directory_open(directory_fd, ".");
    for (struct dirent *entry; (entry = directory_next(servers)) != NULL;) {
        if (strncmp(entry->d_name, SERVER_PREFIX, strlen(SERVER_PREFIX)) != 0)
            continue;
        OWNED_FD int fd = directory_open_locked(directory_fd, entry->d_name);
        if (fd >= 0)
            tree_remove(directory_fd, entry->d_name);
    }
}

/* A sweep of another server may lock the directory first and remove it: then another one is made. */
static int make_own(int directory_fd, char name[UPPER_NAME_SIZE])
{
    int fd = -EAGAIN;
    for (int i = 0; i < UPPER_STORE_TRIES && (fd == -EAGAIN || fd == -ENOENT); i++) {
        uint64_t number;
        if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
            return -errno;
        snprintf(name, UPPER_NAME_SIZE, SERVER_PREFIX "%016" PRIx64, number);
        fd = mkdirat(directory_fd, name, 0700) == 0 ? directory_open_locked(directory_fd, name)
                                                    : -errno;
        if (fd == -EEXIST)
            fd = -EAGAIN;
    }
    return fd;
}

int upper_store_open(struct upper_store *store, const char *path, struct fault *fault)
{
    OWNED_FD int directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory_fd < 0)
        return fault_set(fault, errno, "cannot open the directory %s for copies of folders: %m",
                         path);
    sweep(directory_fd);
    char name[UPPER_NAME_SIZE];
    OWNED_FD int fd = make_own(directory_fd, name);
    if (fd < 0)
        return fault_set(fault, -fd, "cannot make a directory for copies of folders in %s: %m",
                         path);
    OWNED_MEMORY char *own = NULL;
    if (asprintf(&own, "%s/%s", path, name) < 0) {
        own = NULL;
        tree_remove(directory_fd, name);
        return fault_set(fault, ENOMEM, "out of memory for the directory of copies");
    }
    *store = (struct upper_store){.path = pointer_take(&own), .fd = fd_take(&fd)};
    return 0;
}

void upper_store_close(struct upper_store *store)
{
    if (store->path != NULL)
        tree_remove(AT_FDCWD, store->path);
    memory_release(&store->path);
    fd_close(&store->fd); /* last: it holds the lock */
}

int upper_directory_make(struct upper_store *store, uid_t uid, gid_t gid,
                         struct upper_directory *ret_directory, struct fault *fault)
{
    OWNED(upper_directory_remove) struct upper_directory directory = {.fd = -1};
    char name[UPPER_NAME_SIZE];
    snprintf(name, sizeof(name), "run-%" PRIu64, ++store->made);
    if (asprintf(&directory.path, "%s/%s", store->path, name) < 0) {
        directory.path = NULL;
        return fault_set(fault, ENOMEM, "out of memory for the copy of a folder");
    }
    struct stat status;
    if (mkdirat(store->fd, name, 0700) == 0)
        directory.fd = openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory.fd < 0 || fstat(directory.fd, &status) < 0 ||
        (uid != geteuid() && fchown(directory.fd, uid, gid) < 0))
        return fault_set(fault, errno, "cannot make the directory %s for the copy of a folder: %m",
                         directory.path);
    directory.device = status.st_dev;
    directory.inode = status.st_ino;
    *ret_directory = upper_directory_take(&directory);
    return 0;
}

struct upper_directory upper_directory_take(struct upper_directory *directory)
{
    struct upper_directory taken = *directory;
    *directory = UPPER_DIRECTORY_NONE;
    return taken;
}

void upper_directory_remove(struct upper_directory *directory)
{
    if (directory->path == NULL)
        return;
    fd_close(&directory->fd);
    tree_remove(AT_FDCWD, directory->path);
    memory_release(&directory->path);
}
