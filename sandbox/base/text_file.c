#include "sandbox/base/text_file.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>

#define READ_SIZE 4096

int text_file_read(int directory_fd, const char *path, char *ret_text, size_t size)
{
    OWNED_FD int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, ret_text, size - 1);
    int r = length < 0 ? -errno : 0;
    ret_text[length > 0 ? length : 0] = '\0';
    return r;
}

int text_file_read_open(int fd, char *ret_text, size_t size)
{
    ssize_t length = pread(fd, ret_text, size - 1, 0);
    int r = length < 0 ? -errno : 0;
    ret_text[length > 0 ? length : 0] = '\0';
    return r;
}

int text_file_read_all(int fd, struct buffer *text)
{
    for (;;) {
        int r = buffer_reserve(text, READ_SIZE);
        if (r == -ENOBUFS)
            r = buffer_reserve(text, 1);
        if (r < 0)
            return r;
        size_t room = text->capacity - text->length;
        size_t left = text->maximum - text->length;
        ssize_t got = read(fd, text->data + text->length, room < left ? room : left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? 0 : -errno;
        text->length += (size_t)got;
    }
}
