#include "interpreter/files/files_dir.h"

#include "interpreter/base/bounds.h"
#include "interpreter/files/plain_name.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define RESOLVE_FLAGS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
#define CALL_NAME_SIZE 64

const char *files_dir_reason(int error)
{
    switch (-error) {
    case EEXIST:
        return "a file of this name exists";
    case E2BIG:
        return "the files of this call are too large";
    case ELOOP:
    case ENOTDIR:
        return "a part of its path is not a directory";
    case ESTALE:
        return "the directory has been moved or replaced since the start";
    default:
        return strerror(-error);
    }
}

/* A directory that is there, or a negative errno. `name` is one part of a path. */
static int enter(int parent_fd, const char *name)
{
    return open_resolved(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                         RESOLVE_FLAGS);
}

/* "7", "7-2", ... and, once there are too many of these, a name by chance. */
static void name_call(uint64_t call, unsigned attempt, char name[CALL_NAME_SIZE])
{
    uint64_t chance = 0;
    if (attempt == 0) {
        snprintf(name, CALL_NAME_SIZE, "%" PRIu64, call);
    } else if (attempt < FILES_DIR_ATTEMPTS_MAX) {
        snprintf(name, CALL_NAME_SIZE, "%" PRIu64 "-%u", call, attempt + 1);
    } else {
        (void)!getrandom(&chance, sizeof(chance), 0);
        snprintf(name, CALL_NAME_SIZE, "%" PRIu64 "-%016" PRIx64, call, chance);
    }
}

/* An earlier server may have used the number. */
static int make_call_directory(int root_fd, uint64_t call, char name[CALL_NAME_SIZE])
{
    int r = -EEXIST;
    for (unsigned attempt = 0; r == -EEXIST && attempt <= FILES_DIR_ATTEMPTS_MAX; attempt++) {
        name_call(call, attempt, name);
        r = mkdirat(root_fd, name, 0700) < 0 ? -errno : 0;
    }
    return r < 0 ? r : enter(root_fd, name);
}

/* Makes the directory, if it is not there, and enters it. */
static int descend(int parent_fd, const char *name)
{
    if (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    return enter(parent_fd, name);
}

/*
 * Makes the directory of the file below `root_fd`: a descriptor, or a negative errno. Cuts `path` into
 * parts and makes them plain, appends them to `plain`, and says where the last one begins there.
 */
static int make_parents(int root_fd, char *path, struct buffer *plain, size_t *ret_last)
{
    OWNED_FD int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    int r = fd < 0 ? -errno : 0;
    for (char *part; r == 0 && (part = strsep(&path, "/")) != NULL;) {
        plain_name_make(part);
        *ret_last = plain->length;
        r = buffer_append_text(plain, part);
        if (path == NULL || r < 0)
            break;
        int next = descend(fd, part);
        fd_close(&fd);
        fd = next;
        r = next < 0 ? next : buffer_append(plain, "/", 1);
    }
    return r < 0 ? r : fd_take(&fd);
}

static int copy(int to_fd, const struct file_to_save *file)
{
    off_t position = 0;
    while ((uint64_t)position < file->size) {
        ssize_t count =
            sendfile(to_fd, file->fd, &position, (size_t)(file->size - (uint64_t)position));
        if (count == 0)
            return -EIO;
        if (count < 0 && errno != EINTR)
            return -errno;
    }
    return 0;
}

/* The name is one part of a path, so O_EXCL alone keeps it from being a link. */
static int copy_as(int directory_fd, const char *name, const struct file_to_save *file)
{
    OWNED_FD int fd = openat(directory_fd, name,
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = copy(fd, file);
    if (r < 0)
        unlinkat(directory_fd, name, 0);
    return r;
}

/* `place`: the path of root_fd. */
static int save(int root_fd, const char *place, struct file_to_save *file)
{
    OWNED(buffer_release) struct buffer plain = BUFFER(RUN_FILE_PATH_SIZE);
    OWNED_MEMORY char *path = strdup(file->name);
    size_t last = 0;
    if (path == NULL)
        return -ENOMEM;
    OWNED_FD int fd = make_parents(root_fd, path, &plain, &last);
    const char *name = buffer_string(&plain);
    if (fd < 0 || name == NULL)
        return fd < 0 ? fd : -ENOMEM;
    int r = copy_as(fd, name + last, file);
    if (r == 0 && asprintf(&file->path, "%s/%s", place, name) < 0) {
        file->path = NULL;
        r = -ENOMEM;
    }
    return r;
}

/* Checks that the path still leads to the directory that is held: 0, or a negative errno. */
static int check_root(const struct files_dir *directory)
{
    struct stat held;
    struct stat there;
    if (stat(directory->path, &there) < 0 || fstat(directory->fd, &held) < 0)
        return -errno;
    return held.st_dev == there.st_dev && held.st_ino == there.st_ino ? 0 : -ESTALE;
}

/* A descriptor of the directory for the call, and its path. */
static int open_place(const struct files_dir *directory, uint64_t call, int *ret_fd,
                      char **ret_path)
{
    char name[CALL_NAME_SIZE] = "";
    int r = check_root(directory);
    if (r < 0)
        return r;
    OWNED_FD int fd = directory->is_flat ? enter(directory->fd, ".")
                                         : make_call_directory(directory->fd, call, name);
    if (fd < 0)
        return fd;
    bool is_root = strcmp(directory->path, "/") == 0;
    if (asprintf(ret_path, "%s%s%s", is_root ? "" : directory->path, name[0] != '\0' ? "/" : "",
                 name) < 0) {
        *ret_path = NULL;
        return -ENOMEM;
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

int files_dir_save(const struct files_dir *directory, uint64_t call, struct file_to_save *files,
                   size_t count)
{
    OWNED_FD int fd = -1;
    OWNED_MEMORY char *place = NULL;
    int r = count > 0 ? open_place(directory, call, &fd, &place) : 0;
    uint64_t room = FILES_DIR_BYTES_MAX;
    for (size_t i = 0; i < count; i++) {
        bool fits = files[i].size <= room;
        files[i].path = NULL;
        files[i].error = r < 0 ? r : fits ? save(fd, place, &files[i]) : -E2BIG;
        room -= files[i].error == 0 ? files[i].size : 0;
    }
    return r;
}
