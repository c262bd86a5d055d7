#include "images/unpack/copy.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_SIZE (256 << 10)

struct copy {
    struct member_writer writer;
    char *bytes;         /* COPY_SIZE */
    char name[PATH_MAX]; /* of the current entry, from the top */
};

static int unreadable(const struct copy *copy, struct fault *fault)
{
    char shown[256];
    return fault_set(fault, errno, "cannot read %s of the directory: %m",
                     member_name_for_people(copy->name, shown));
}

/* If a file grows meanwhile, only the counted size is copied. */
static int body_copy(const struct copy *copy, int from_fd, int to_fd, const struct member *member,
                     struct fault *fault)
{
    uint64_t left = member->size;
    while (left > 0) {
        ssize_t got = read(from_fd, copy->bytes, left < COPY_SIZE ? (size_t)left : COPY_SIZE);
        if (got < 0)
            return unreadable(copy, fault);
        if (got == 0)
            break;
        int r = io_write(to_fd, copy->bytes, (size_t)got);
        if (r < 0)
            return fault_set(fault, -r, "cannot write a file of the image: %m");
        left -= (uint64_t)got;
    }
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, member->time};
    if (futimens(to_fd, times) < 0)
        return fault_set(fault, errno, "cannot set the time of a file of the image: %m");
    return 0;
}

static int below_copy(struct copy *copy, int directory_fd, struct fault *fault);

/* Copies one entry of the directory; copy->name names it. */
static int entry_copy(struct copy *copy, int directory_fd, const char *base, struct fault *fault)
{
    struct stat status;
    char target[PATH_MAX] = "";
    if (fstatat(directory_fd, base, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return unreadable(copy, fault);
    if (S_ISLNK(status.st_mode) && readlinkat(directory_fd, base, target, sizeof(target) - 1) < 0)
        return unreadable(copy, fault);
    const struct member member = {
        .name = copy->name,
        .link = S_ISLNK(status.st_mode) ? target : NULL,
        .type = status.st_mode & S_IFMT,
        .permissions = status.st_mode & 07777,
        .size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0,
        .time = status.st_mtim,
    };
    OWNED_FD int from_fd = -1;
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) {
        int kind = S_ISDIR(status.st_mode) ? O_DIRECTORY : O_NONBLOCK;
        from_fd = openat(directory_fd, base, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
        if (from_fd < 0)
            return unreadable(copy, fault);
    }
    OWNED_FD int to_fd = -1;
    int r = member_writer_add(&copy->writer, &member, &to_fd, fault);
    if (r < 0)
        return r;
    if (S_ISDIR(status.st_mode))
        return below_copy(copy, from_fd, fault);
    return to_fd >= 0 ? body_copy(copy, from_fd, to_fd, &member, fault) : 0;
}

static int below_copy(struct copy *copy, int directory_fd, struct fault *fault)
{
    OWNED(directory_release) DIR *directory = directory_open(directory_fd, ".");
    if (directory == NULL)
        return unreadable(copy, fault);
    size_t length = strlen(copy->name);
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = directory_next(directory)) != NULL;) {
        int added = snprintf(copy->name + length, sizeof(copy->name) - length, "%s%s",
                             length > 0 ? "/" : "", entry->d_name);
        if ((size_t)added >= sizeof(copy->name) - length)
            return fault_set(fault, ENAMETOOLONG, "a name in the directory is too long");
        r = entry_copy(copy, directory_fd, entry->d_name, fault);
        copy->name[length] = '\0';
    }
    return r;
}

int copy_directory(int directory_fd, struct tree_usage *usage, struct fault *fault)
{
    OWNED_MEMORY struct copy *copy = calloc(1, sizeof(*copy));
    OWNED_MEMORY char *bytes = malloc(COPY_SIZE);
    if (copy == NULL || bytes == NULL)
        return fault_set(fault, ENOMEM, "no memory to copy a directory");
    copy->bytes = bytes;
    member_writer_open(&copy->writer, usage, TREE_WHOLE);
    int r = below_copy(copy, directory_fd, fault);
    member_writer_close(&copy->writer);
    return r;
}
