#include "fleet/lines.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PIECE (64 * 1024)

int lines_next(struct line_reader *reader, const char **ret_line, size_t *ret_length)
{
    struct buffer *text = &reader->text;
    for (;;) {
        const char *newline =
            text->length > reader->scanned
                ? memchr(text->data + reader->scanned, '\n', text->length - reader->scanned)
                : NULL;
        if (newline != NULL) {
            *ret_line = text->data + reader->begin;
            *ret_length = (size_t)(newline - *ret_line);
            reader->begin = reader->scanned = (size_t)(newline - text->data) + 1;
            return 1;
        }
        buffer_consume(text, reader->begin);
        reader->begin = 0;
        reader->scanned = text->length;
        int r = buffer_reserve(text, PIECE);
        if (r < 0)
            return r;
        ssize_t count = read(STDIN_FILENO, text->data + text->length, PIECE);
        if (count == 0)
            return 0;
        if (count < 0 && errno != EINTR)
            return -errno;
        text->length += count > 0 ? (size_t)count : 0;
    }
}

int lines_write(const char *line, size_t length)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct iovec parts[] = {{(void *)(uintptr_t)line, length}, {(void *)(uintptr_t)"\n", 1}};
    int r = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(parts);) {
        const struct msghdr message = {.msg_iov = parts + i, .msg_iovlen = ARRAY_LENGTH(parts) - i};
        ssize_t count = sendmsg(STDOUT_FILENO, &message, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
            r = -errno;
        for (size_t left = count > 0 ? (size_t)count : 0; left > 0;) {
            size_t taken = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + taken;
            parts[i].iov_len -= taken;
            left -= taken;
            i += parts[i].iov_len == 0;
        }
    }
    pthread_mutex_unlock(&mutex);
    return r;
}

void lines_give_up(void)
{
    static const char text[] = "code-sandbox-mcp-fleet: no memory\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(written < 0 ? EXIT_FAILURE + 1 : EXIT_FAILURE);
}
