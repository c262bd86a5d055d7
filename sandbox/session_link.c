#include "sandbox/session_link.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* At the beginning of the memory of cells, before the code. */
struct control_block {
    uint32_t interrupt; /* the cell that is to be interrupted; 0: none */
    uint32_t back_to; /* the cell whose files a copy of the program is to bring back; 0: none */
    uint32_t functions; /* bytes of them, behind the code */
    uint32_t reserved;
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

static int write_cell(const struct session_channels *channels, const struct session_link_cell *cell)
{
    static const struct buffer none;
    const struct buffer *functions = cell->functions != NULL ? cell->functions : &none;
    const struct control_block block = {.functions = (uint32_t)functions->length};
    int fd = channels->cells[0];
    if (ftruncate(fd, 0) < 0)
        return -errno;
    int r = write_at(fd, &block, sizeof(block), 0);
    if (r == 0)
        r = write_at(fd, cell->code, cell->length, sizeof(block));
    if (r == 0)
        r = write_at(fd, functions->data, functions->length, (off_t)(sizeof(block) + cell->length));
    return r;
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

int session_link_say(const struct session_link *link, enum parent_word word)
{
    const struct parent_message message = {.word = word, .lane = link->lane};
    return sandbox_send(link->sandbox, &message);
}

int session_link_keep(const struct session_link *link, const struct parent_message *copy)
{
    struct parent_message message = *copy;
    message.word = WORD_CHECKPOINT;
    message.lane = link->lane;
    return sandbox_send(link->sandbox, &message);
}

int session_link_keep_newest(const struct session_link *link, uint32_t number)
{
    const struct parent_message message = {
        .word = WORD_CHECKPOINT, .lane = link->lane, .file_count = number};
    return sandbox_send(link->sandbox, &message);
}

int session_link_end_program(const struct session_link *link, uint32_t revived)
{
    const struct parent_message message = {
        .word = WORD_END_PROGRAM, .lane = link->lane, .revived = revived};
    return sandbox_send(link->sandbox, &message);
}

int session_link_go_back(const struct session_link *link, uint32_t cell, uint32_t revived)
{
    const struct control_block block = {.back_to = cell};
    const struct parent_message message = {
        .word = WORD_GO_BACK, .lane = link->lane, .number = cell, .revived = revived};
    int r = write_at(link->channels->cells[0], &block, sizeof(block), 0);
    return r < 0 ? r : sandbox_send(link->sandbox, &message);
}

int session_link_run(const struct session_link *link, const struct session_link_cell *cell)
{
    const struct frame frame = {
        .kind = FRAME_RUN,
        .cell = cell->number,
        .a = (uint32_t)cell->length,
        .b = cell->kept_kib | (cell->functions != NULL ? RUN_HAS_CALLS : 0),
    };
    int r = write_cell(link->channels, cell);
    if (r == 0)
        r = session_link_say(link, WORD_RESUME);
    return r < 0 ? r : send_frame(link->channels, &frame);
}

int session_link_interrupt(const struct session_link *link, uint32_t cell, bool by_frame)
{
    const struct frame frame = {.kind = FRAME_INTERRUPT, .cell = cell};
    int r = mark(link->channels, cell);
    if (r == 0 && by_frame)
        r = send_frame(link->channels, &frame);
    return r < 0 ? r : session_link_say(link, by_frame ? WORD_INTERRUPT_CHILDREN : WORD_INTERRUPT);
}

int session_link_pause(const struct session_link *link)
{
    int r = mark(link->channels, 0);
    return r < 0 ? r : session_link_say(link, WORD_PAUSE);
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
