#include "sandbox/session_link.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* At the beginning of the memory of cells, before the code. */
struct control_block {
    uint32_t interrupt; /* the cell that is to be interrupted; 0: none */
    uint32_t reserved[3];
};

static int write_at(int fd, const void *bytes, size_t length, off_t offset)
{
    for (size_t done = 0; done < length;) {
        ssize_t written =
            pwrite(fd, (const char *)bytes + done, length - done, offset + (off_t)done);
        if (written < 0)
            return -errno;
        done += (size_t)written;
    }
    return 0;
}

int session_link_write_input(const struct session_channels *channels, const char *bytes,
                             size_t length)
{
    if (ftruncate(channels->input[0], 0) < 0)
        return -errno;
    int r = write_at(channels->input[0], bytes, length, 0);
    if (r == 0 && lseek(channels->input[1], 0, SEEK_SET) < 0)
        r = -errno;
    return r;
}

static int write_code(const struct session_channels *channels, const char *code, size_t length)
{
    const struct control_block block = {0};
    if (ftruncate(channels->cells[0], 0) < 0)
        return -errno;
    int r = write_at(channels->cells[0], &block, sizeof(block), 0);
    return r < 0 ? r : write_at(channels->cells[0], code, length, sizeof(block));
}

/* Names the cell that is to be interrupted; 0: none. */
static int mark(const struct session_channels *channels, uint32_t cell)
{
    const struct control_block block = {.interrupt = cell};
    return write_at(channels->cells[0], &block.interrupt, sizeof(block.interrupt), 0);
}

static int send_frame(const struct session_channels *channels, const struct frame *frame)
{
    return send(channels->channel[0], frame, sizeof(*frame), MSG_NOSIGNAL | MSG_DONTWAIT) < 0
               ? -errno
               : 0;
}

int session_link_run(const struct sandbox *sandbox, uint32_t cell, const char *code, size_t length)
{
    const struct frame frame = {.kind = FRAME_RUN, .cell = cell, .a = (uint32_t)length};
    int r = write_code(&sandbox->session, code, length);
    if (r == 0)
        r = sandbox_say(sandbox, WORD_RESUME);
    return r < 0 ? r : send_frame(&sandbox->session, &frame);
}

int session_link_interrupt(const struct sandbox *sandbox, uint32_t cell, bool by_frame)
{
    const struct frame frame = {.kind = FRAME_INTERRUPT, .cell = cell};
    int r = mark(&sandbox->session, cell);
    if (r == 0 && by_frame)
        r = send_frame(&sandbox->session, &frame);
    return r < 0 ? r : sandbox_say(sandbox, by_frame ? WORD_INTERRUPT_CHILDREN : WORD_INTERRUPT);
}

int session_link_pause(const struct sandbox *sandbox)
{
    int r = mark(&sandbox->session, 0);
    return r < 0 ? r : sandbox_say(sandbox, WORD_PAUSE);
}

int session_link_receive(const struct session_channels *channels, struct frame *ret_frame)
{
    struct frame frame;
    ssize_t length = read(channels->answers[0], &frame, sizeof(frame));
    if (length < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    if (length == 0)
        return -EPIPE;
    if (length != (ssize_t)sizeof(frame))
        return -EPROTO;
    *ret_frame = frame;
    return 0;
}
