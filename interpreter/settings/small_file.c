#include "interpreter/settings/small_file.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

/* As small_file_read(), up to its descriptor. */
static int open_file(const char *path, const char *what, int *ret_fd, struct stat *ret_status,
                     struct fault *fault)
{
    /* Not to wait for the other end of a FIFO. */
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0)
        return fault_set(fault, errno, "cannot open %s %s: %m", what, path);
    if (fstat(fd, ret_status) < 0)
        return fault_set(fault, errno, "cannot read %s %s: %m", what, path);
    if (!S_ISREG(ret_status->st_mode))
        return fault_set(fault, EINVAL, "%s %s is not a regular file", what, path);
    *ret_fd = fd_take(&fd);
    return 0;
}

static int read_file(int fd, const char *path, const char *what, size_t maximum,
                     struct buffer *text, struct fault *fault)
{
    int r = buffer_reserve(text, maximum + 1);
    if (r < 0)
        return fault_set(fault, -r, "no memory for %s %s", what, path);
    ssize_t count;
    while ((count = read(fd, text->data + text->length, text->capacity - text->length)) > 0)
        text->length += (size_t)count;
    if (count < 0)
        return fault_set(fault, errno, "cannot read %s %s: %m", what, path);
    if (text->length > maximum)
        return fault_set(fault, EINVAL, "%s %s is longer than %zu KiB", what, path, maximum / 1024);
    return 0;
}

int small_file_read(const char *path, const char *what, size_t maximum, struct buffer *text,
                    struct fault *fault)
{
    OWNED_FD int fd = -1;
    struct stat status;
    int r = open_file(path, what, &fd, &status, fault);
    return r < 0 ? r : read_file(fd, path, what, maximum, text, fault);
}

int small_file_read_private(const char *path, const char *what, size_t maximum, struct buffer *text,
                            struct fault *fault)
{
    OWNED_FD int fd = -1;
    struct stat status;
    int r = open_file(path, what, &fd, &status, fault);
    if (r < 0)
        return r;
    bool is_ours = status.st_uid == geteuid();
    if (!is_ours && status.st_uid != 0)
        return fault_set(fault, EPERM, "%s %s belongs to another user: use a file of your own",
                         what, path);
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return fault_set(fault, EPERM, "%s %s is open to other users (mode %03o): %s%s", what, path,
                         (unsigned)status.st_mode & 0777,
                         is_ours ? "run chmod 600 " : "use a file of your own with mode 600",
                         is_ours ? path : "");
    return read_file(fd, path, what, maximum, text, fault);
}
