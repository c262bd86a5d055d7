#include "sandbox/base/io.h"

#include <errno.h>
#include <unistd.h>

int io_write(int fd, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = write(fd, (const char *)bytes + done, length - done);
        if (count < 0 && errno != EINTR)
            return -errno;
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

int io_write_at(int fd, const void *bytes, size_t length, uint64_t offset)
{
    for (size_t done = 0; done < length;) {
        ssize_t count =
            pwrite(fd, (const char *)bytes + done, length - done, (off_t)(offset + done));
        if (count < 0 && errno != EINTR)
            return -errno;
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

int io_read_at(int fd, void *bytes, size_t length, uint64_t offset)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = pread(fd, (char *)bytes + done, length - done, (off_t)(offset + done));
        if (count == 0)
            return -EIO;
        if (count < 0 && errno != EINTR)
            return -errno;
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

int io_append(int fd, uint64_t length, struct buffer *bytes)
{
    if (length > SIZE_MAX)
        return -ENOBUFS;
    int r = buffer_reserve(bytes, (size_t)length);
    if (r == 0)
        r = io_read_at(fd, bytes->data + bytes->length, (size_t)length, 0);
    bytes->length += r == 0 ? (size_t)length : 0;
    return r;
}
