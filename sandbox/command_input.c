#include "sandbox/command_input.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <unistd.h>

int command_input_add(struct command_input *input, const char *bytes, size_t length, bool is_last)
{
    if (input->ends)
        return -EPIPE;
    int r = buffer_append(&input->bytes, bytes, length);
    if (r < 0)
        return r == -ENOBUFS ? -EAGAIN : r;
    input->ends = is_last;
    return 0;
}

static int write_bytes(struct command_input *input)
{
    while (input->bytes.length > 0) {
        ssize_t written = write(input->fd, input->bytes.data, input->bytes.length);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0)
            buffer_consume(&input->bytes, (size_t)written);
    }
    return 0;
}

int command_input_write(struct command_input *input, struct loop *loop)
{
    int r = write_bytes(input);
    if (r == -EAGAIN) {
        r = loop_watch(loop, &input->watch, input->fd, EPOLLOUT);
        if (r == 0)
            return 1;
    }
    if (r < 0 || input->ends)
        command_input_close(input, loop);
    else
        loop_unwatch(loop, &input->watch);
    return r == -EPIPE ? 0 : r;
}

void command_input_close(struct command_input *input, struct loop *loop)
{
    loop_unwatch(loop, &input->watch);
    fd_close(&input->fd);
    buffer_release(&input->bytes);
}
