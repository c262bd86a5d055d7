#include "interpreter/base/channel.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#define LINES_MAX 64

struct reader {
    struct loop loop;
    struct channel channel;
    struct channel_observer observer;
    char lines[LINES_MAX][16];
    size_t count, oversized, holds_after; /* holds with that many lines; 0: never */
    bool has_ended;
    struct loop_timer stop;
};

static void take_line(void *data, const char *line, size_t length)
{
    struct reader *reader = data;
    assert_true(reader->count < LINES_MAX && length < sizeof(reader->lines[0]));
    assert_false(reader->channel.held);
    memcpy(reader->lines[reader->count++], line, length);
    if (reader->count == reader->holds_after)
        channel_hold(&reader->channel, true);
}

static void take_oversized(void *data)
{
    struct reader *reader = data;
    reader->oversized++;
}

static void take_end(void *data, enum channel_end end)
{
    struct reader *reader = data;
    assert_int_equal(end, CHANNEL_INPUT_ENDED);
    reader->has_ended = true;
}

static void ignore_pause(void *data, bool is_paused)
{
    (void)data;
    (void)is_paused;
}

static void ignore(void *data)
{
    (void)data;
}

static void stop(struct loop_timer *timer)
{
    struct reader *reader = container_of(timer, struct reader, stop);
    loop_stop(&reader->loop);
}

static void reader_open_with(struct reader *reader, int input_fd, int output_fd)
{
    *reader = (struct reader){
        .loop = {.epoll_fd = -1},
        .observer = {.line = take_line,
                     .oversized = take_oversized,
                     .ended = take_end,
                     .paused = ignore_pause,
                     .drained = ignore,
                     .data = reader},
        .stop = {.fire = stop},
    };
    assert_int_equal(loop_open(&reader->loop), 0);
    assert_int_equal(
        channel_open(&reader->channel, &reader->loop, input_fd, output_fd, &reader->observer), 0);
}

static void reader_open(struct reader *reader, int input_fd)
{
    reader_open_with(reader, input_fd, STDERR_FILENO);
}

static void reader_close(struct reader *reader)
{
    channel_close(&reader->channel);
    loop_close(&reader->loop);
}

/* What is there now is read. */
static void look(struct reader *reader)
{
    loop_arm(&reader->loop, &reader->stop, clock_now() + 20 * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(loop_run(&reader->loop), 0);
}

/* A pipe with the text in it, and no writer left if `is_closed`. */
static void fill_pipe(int ends[2], const char *text, bool is_closed)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    if (is_closed)
        fd_close(&ends[1]);
}

static int unread_in(int fd)
{
    int unread = -1;
    assert_int_equal(ioctl(fd, FIONREAD, &unread), 0);
    return unread;
}

/* Whose writes wait for room, were there too much for it. */
static void an_output_pipe_is_filled_and_not_waited_for(void **state)
{
    (void)state;
    static char line[300000], read_back[sizeof(line) + 1];
    struct reader reader;
    int in[2], out[2];
    memset(line, 'x', sizeof(line));
    fill_pipe(in, "", false);
    fill_pipe(out, "", false);
    int capacity = fcntl(out[1], F_GETPIPE_SZ);
    reader_open_with(&reader, in[0], out[1]);
    alarm(30);
    channel_send(&reader.channel, line, sizeof(line));
    look(&reader);
    assert_int_equal(unread_in(out[0]), capacity);
    ssize_t length = read(out[0], read_back, 5000); /* one page of them is free */
    look(&reader);
    while (length < (ssize_t)sizeof(read_back)) {
        length += read(out[0], read_back + length, sizeof(read_back) - (size_t)length);
        look(&reader);
    }
    alarm(0);
    assert_memory_equal(read_back, line, sizeof(line));
    assert_int_equal(read_back[sizeof(line)], '\n');
    assert_true(channel_is_drained(&reader.channel));
    reader_close(&reader);
    for (size_t i = 0; i < 2; i++) {
        fd_close(&in[i]);
        fd_close(&out[i]);
    }
}

static void no_line_is_delivered_while_held(void **state)
{
    (void)state;
    struct reader reader;
    int ends[2];
    fill_pipe(ends, "1\n2\n3\n4", false);
    reader_open(&reader, ends[0]);
    reader.holds_after = 2;
    look(&reader);
    assert_int_equal(reader.count, 2);
    reader.holds_after = 0;
    channel_hold(&reader.channel, false);
    look(&reader);
    assert_int_equal(reader.count, 3);
    assert_int_equal(write(ends[1], "4\n", 2), 2);
    look(&reader);
    assert_string_equal(reader.lines[3], "44");
    reader_close(&reader);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

static void the_end_waits_for_lines_that_wait(void **state)
{
    (void)state;
    struct reader reader;
    int ends[2];
    fill_pipe(ends, "1\n2\n3", true);
    reader_open(&reader, ends[0]);
    reader.holds_after = 1;
    look(&reader);
    look(&reader); /* the end of the pipe has been seen by now */
    assert_int_equal(reader.count, 1);
    assert_false(reader.has_ended);
    reader.holds_after = 3;
    channel_hold(&reader.channel, false);
    look(&reader);
    assert_int_equal(reader.count, 3);
    assert_string_equal(reader.lines[2], "3");
    assert_true(reader.has_ended);
    reader_close(&reader);
    fd_close(&ends[0]);
}

static void a_hold_from_the_start_loses_none(void **state)
{
    (void)state;
    struct reader reader;
    int ends[2];
    fill_pipe(ends, "1\n2\n3\n", true);
    reader_open(&reader, ends[0]);
    channel_hold(&reader.channel, true);
    look(&reader);
    assert_int_equal(reader.count, 0);
    channel_hold(&reader.channel, false);
    look(&reader);
    assert_int_equal(reader.count, 3);
    assert_true(reader.has_ended);
    reader_close(&reader);
    fd_close(&ends[0]);
}

static void a_failed_read_is_no_end(void **state)
{
    (void)state;
    struct reader reader;
    OWNED_FD int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    reader_open(&reader, fd);
    look(&reader);
    assert_true(reader.has_ended);
    assert_int_equal(reader.channel.input_error, EISDIR);
    reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_pipe_is_filled_and_not_waited_for),
        cmocka_unit_test(no_line_is_delivered_while_held),
        cmocka_unit_test(the_end_waits_for_lines_that_wait),
        cmocka_unit_test(a_hold_from_the_start_loses_none),
        cmocka_unit_test(a_failed_read_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
