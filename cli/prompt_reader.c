#include "cli/prompt_reader.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define PIECE 4096
#define READ_MAX (SIZE_MAX / 2) /* the buffers of lines have their limits */

static void on_input(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    loop_stop(container_of(watch, struct prompt_reader, watch)->loop);
}

/* A file is always ready: epoll(7) has none. */
static int wait_for_input(struct prompt_reader *reader)
{
    int r = loop_watch(reader->loop, &reader->watch, STDIN_FILENO, EPOLLIN);
    if (r == -EPERM)
        return 0;
    if (r < 0)
        return r;
    reader->is_waiting = true;
    r = loop_run(reader->loop);
    reader->is_waiting = false;
    loop_unwatch(reader->loop, &reader->watch);
    return r == 0 && reader->is_interrupted ? -EINTR : r;
}

/* 0 at the end. Bytes that a terminal keeps for the next program on it are left there. */
static ssize_t read_piece(struct prompt_reader *reader, char *bytes, size_t size)
{
    for (;;) {
        int r = wait_for_input(reader);
        if (r < 0)
            return r;
        ssize_t count = read(STDIN_FILENO, bytes, size);
        if (count >= 0 || errno == EIO) /* the terminal is gone */
            return count < 0 ? 0 : count;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
}

static int get_byte(void *data, char *ret_byte)
{
    return (int)read_piece(data, ret_byte, 1);
}

void prompt_reader_open(struct prompt_reader *reader, struct loop *loop, const char *history)
{
    *reader = (struct prompt_reader){
        .loop = loop,
        .is_terminal = isatty(STDIN_FILENO) == 1,
        .watch = {.fd = -1, .ready = on_input},
        .read = BUFFER(READ_MAX),
    };
    reader->editor = line_editor_open(&(struct line_source){get_byte, reader}, history);
}

void prompt_reader_close(struct prompt_reader *reader)
{
    line_editor_close(reader->editor);
    reader->editor = NULL;
    buffer_release(&reader->read);
}

/* Adds to what has been read. 1; 0 at the end; a negative errno. */
static int fill(struct prompt_reader *reader)
{
    char piece[PIECE];
    ssize_t count = read_piece(reader, piece, sizeof(piece));
    int r = count > 0 ? buffer_append(&reader->read, piece, (size_t)count) : (int)count;
    return r < 0 || count == 0 ? r : 1;
}

static int take_line(struct prompt_reader *reader, struct buffer *line)
{
    size_t length = 0;
    int r = 1;
    for (;; length++) {
        if (length == reader->read.length && (r = fill(reader)) <= 0)
            break;
        if (reader->read.data[length] == '\n')
            break;
        if (length == line->maximum)
            return -ENOBUFS;
    }
    if (r < 0 || (r == 0 && length == 0))
        return r;
    r = buffer_append(line, reader->read.data, length);
    if (r == 0)
        r = buffer_append(line, "\n", 1);
    buffer_consume(&reader->read, length < reader->read.length ? length + 1 : length);
    return r < 0 ? r : 1;
}

int prompt_reader_next(struct prompt_reader *reader, const char *prompt, struct buffer *line)
{
    size_t before = line->length;
    reader->is_interrupted = false;
    if (reader->is_terminal && reader->editor == NULL &&
        write(STDERR_FILENO, prompt, strlen(prompt)) < 0 && errno == EIO)
        return 0;
    int r = reader->editor != NULL ? line_editor_read(reader->editor, prompt, line)
                                   : take_line(reader, line);
    if (r < 0)
        line->length = before;
    return r;
}

void prompt_reader_interrupt(struct prompt_reader *reader)
{
    if (!reader->is_waiting)
        return;
    reader->is_interrupted = true;
    reader->read.length = reader->is_terminal ? 0 : reader->read.length;
    loop_stop(reader->loop);
}

bool prompt_reader_has_more(const struct prompt_reader *reader)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    return reader->read.length > 0 || poll(&ready, 1, 0) > 0;
}

bool prompt_reader_is_indented(struct prompt_reader *reader)
{
    static const char spaces[] = " \t\r";
    size_t at = 0;
    size_t line = 0;
    for (;; at++) {
        if (at == reader->read.length && fill(reader) <= 0)
            return false;
        char byte = reader->read.data[at];
        if (byte == '\n')
            line = at + 1;
        else if (strchr(spaces, byte) == NULL)
            return at > line;
    }
}
