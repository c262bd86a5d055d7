#include "mcp/settings/small_file.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <sys/stat.h>

int small_file_read(const char *path, const char *what, size_t maximum, struct buffer *text,
                    struct fault *fault)
{
    /* Not to wait for the other end of a FIFO. */
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0)
        return fault_set(fault, errno, "cannot open %s %s: %m", what, path);
    struct stat status;
    if (fstat(fd, &status) < 0)
        return fault_set(fault, errno, "cannot read %s %s: %m", what, path);
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "%s %s is no regular file", what, path);
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
