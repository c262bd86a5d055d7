#include "images/unpack/whiteout.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIX ".wh."
#define PREFIX_LENGTH 4

/* Parses the last part of a name, which has the prefix. */
static struct whiteout last_part_read(const char *rest)
{
    if (strcmp(rest, PREFIX ".opq") == 0)
        return (struct whiteout){.kind = WHITEOUT_OPAQUE};
    if (rest[0] == '\0' || strcmp(rest, ".") == 0 || strcmp(rest, "..") == 0)
        return (struct whiteout){.kind = WHITEOUT_BAD};
    return (struct whiteout){.kind = WHITEOUT_NAME, .name = rest};
}

struct whiteout whiteout_read(const char *member)
{
    for (const char *part = member; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        bool last = strchr(part, '/') == NULL;
        bool marked = strncmp(part, PREFIX, PREFIX_LENGTH) == 0;
        bool opaque = last && strcmp(part, PREFIX PREFIX ".opq") == 0;
        if (marked && !opaque && strncmp(part + PREFIX_LENGTH, PREFIX, PREFIX_LENGTH) == 0)
            return (struct whiteout){.kind = WHITEOUT_IGNORED};
        if (marked && last)
            return last_part_read(part + PREFIX_LENGTH);
    }
    return (struct whiteout){.kind = WHITEOUT_NONE};
}

/* Empties a directory below another. */
static int directory_empty(int parent_fd, const char *name, const struct whiteout_scope *scope)
{
    OWNED_FD int fd =
        openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : whiteout_empty(fd, scope);
}

int whiteout_remove(int directory_fd, const char *name, const struct whiteout_scope *scope)
{
    struct stat directory, status;
    if (*scope->left == 0)
        return -E2BIG;
    --*scope->left;
    if (fstat(directory_fd, &directory) < 0)
        return -errno;
    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    bool stays = hash_set_has(scope->kept, directory.st_ino, name);
    if (!S_ISDIR(status.st_mode))
        return stays || unlinkat(directory_fd, name, 0) == 0 ? 0 : -errno;
    int r = directory_empty(directory_fd, name, scope);
    if (r < 0 || stays || unlinkat(directory_fd, name, AT_REMOVEDIR) == 0)
        return r;
    /* It still has entries of this layer, so the directory stays. */
    return errno == ENOTEMPTY || errno == EEXIST ? 0 : -errno;
}

int whiteout_empty(int directory_fd, const struct whiteout_scope *scope)
{
    OWNED(directory_release) DIR *directory = directory_open(directory_fd, ".");
    if (directory == NULL)
        return -errno;
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = directory_next(directory)) != NULL;)
        r = whiteout_remove(directory_fd, entry->d_name, scope);
    return r;
}
