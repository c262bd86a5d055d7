#include "sandbox/stdin_pump.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#define PATIENCE_MS 10000
#define QUIET_MS 50
#define LARGE 1000000

/* A pump, the program's end of its pipe, and what came through. */
struct bench {
    struct loop loop;
    struct stdin_pump pump;
    struct loop_timer timer;
    struct loop_watch reader;
    int program_fd;
    size_t wanted; /* stop when so much has come */
    size_t length;
    bool ended;
    char bytes[LARGE + 1];
};

static struct bench bench;
static char large[LARGE];

static void on_timer(struct loop_timer *timer)
{
    (void)timer;
    loop_stop(&bench.loop);
}

static void on_reader(struct loop_watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
    ssize_t count =
        read(bench.program_fd, bench.bytes + bench.length, sizeof(bench.bytes) - bench.length);
    bench.ended = count == 0;
    bench.length += count > 0 ? (size_t)count : 0;
    if (bench.ended || bench.length >= bench.wanted)
        loop_stop(&bench.loop);
}

static int start(const struct run_stdin *source)
{
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
    bench.program_fd = pair[0];
    return stdin_pump_open(&bench.pump, &bench.loop, source, pair[1]);
}

static void run_for(int64_t milliseconds)
{
    loop_arm(&bench.loop, &bench.timer, clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(loop_run(&bench.loop), 0);
    loop_disarm(&bench.loop, &bench.timer);
}

/* Reads as a program does, until so much is there, or the end. */
static void read_until(size_t wanted)
{
    bench.wanted = wanted;
    assert_int_equal(loop_watch(&bench.loop, &bench.reader, bench.program_fd, EPOLLIN), 0);
    run_for(PATIENCE_MS);
    loop_unwatch(&bench.loop, &bench.reader);
}

static void expect_all(const char *bytes, size_t length)
{
    read_until(SIZE_MAX);
    assert_true(bench.ended);
    assert_int_equal(bench.length, length);
    assert_memory_equal(bench.bytes, bytes, length);
    assert_int_equal(bench.pump.sink_fd, -1);
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 7 + i / 251);
    bench = (struct bench){
        .pump = STDIN_PUMP_NONE,
        .timer = {.fire = on_timer},
        .reader = {.fd = -1, .ready = on_reader},
        .program_fd = -1,
    };
    return loop_open(&bench.loop);
}

static int tear_down(void **state)
{
    (void)state;
    stdin_pump_close(&bench.pump);
    fd_close(&bench.program_fd);
    loop_close(&bench.loop);
    return 0;
}

static struct run_stdin from_bytes(const char *bytes, size_t length)
{
    return (struct run_stdin){.kind = STDIN_BYTES, .bytes = bytes, .length = length};
}

static struct run_stdin from_descriptor(int fd)
{
    return (struct run_stdin){.kind = STDIN_DESCRIPTOR, .fd = fd};
}

static void few_bytes_are_in_the_pipe_at_once(void **state)
{
    (void)state;
    const struct run_stdin source = from_bytes("1 2 3\n", 6);
    assert_int_equal(start(&source), 0);
    assert_int_equal(bench.pump.sink_fd, -1);
    char text[16];
    assert_int_equal(read(bench.program_fd, text, sizeof(text)), 6);
    assert_int_equal(read(bench.program_fd, text, sizeof(text)), 0);
}

static void no_bytes_are_the_end(void **state)
{
    (void)state;
    const struct run_stdin source = from_bytes(NULL, 0);
    assert_int_equal(start(&source), 0);
    expect_all("", 0);
}

static void more_bytes_than_a_pipe_holds_wait_for_the_reader(void **state)
{
    (void)state;
    const struct run_stdin source = from_bytes(large, LARGE);
    assert_int_equal(start(&source), 0);
    assert_true(bench.pump.length > 0);
    run_for(QUIET_MS);
    assert_true(bench.pump.length > LARGE / 2);
    expect_all(large, LARGE);
}

static void a_pipe_is_passed_on_as_it_comes(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    const struct run_stdin source = from_descriptor(pair[0]);
    assert_int_equal(start(&source), 0);
    assert_int_equal(write(pair[1], "one", 3), 3);
    read_until(3);
    assert_int_equal(write(pair[1], "two", 3), 3);
    close(pair[1]);
    expect_all("onetwo", 6);
    assert_int_equal(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0); /* it is another's, too */
    close(pair[0]);
}

static void a_regular_file_is_passed_on(void **state)
{
    (void)state;
    OWNED_FD int fd = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(write(fd, large, LARGE), LARGE);
    assert_int_equal(lseek(fd, 10, SEEK_SET), 10);
    const struct run_stdin source = from_descriptor(fd);
    assert_int_equal(start(&source), 0);
    assert_true(bench.pump.is_file);
    expect_all(large + 10, LARGE - 10);
}

static void a_socket_is_passed_on(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const struct run_stdin source = from_descriptor(pair[0]);
    assert_int_equal(start(&source), 0);
    assert_int_equal(write(pair[1], "words", 5), 5);
    close(pair[1]);
    expect_all("words", 5);
    close(pair[0]);
}

static void a_terminal_is_passed_on_line_by_line(void **state)
{
    (void)state;
    int main_fd, terminal_fd;
    assert_int_equal(openpty(&main_fd, &terminal_fd, NULL, NULL, NULL), 0);
    const struct run_stdin source = from_descriptor(terminal_fd);
    assert_int_equal(start(&source), 0);
    assert_int_equal(write(main_fd, "half", 4), 4);
    run_for(QUIET_MS);
    assert_int_equal(bench.length, 0);
    assert_int_equal(write(main_fd, " line\n", 6), 6);
    read_until(10);
    assert_int_equal(write(main_fd, "\4", 1), 1); /* Ctrl-D */
    expect_all("half line\n", 10);
    close(main_fd);
    close(terminal_fd);
}

static void what_cannot_be_read_is_the_end(void **state)
{
    (void)state;
    OWNED_FD int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    OWNED_FD int directory_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fds[] = {null_fd, directory_fd};
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        const struct run_stdin source = from_descriptor(fds[i]);
        assert_int_equal(start(&source), 0);
        expect_all("", 0);
        fd_close(&bench.program_fd);
    }
}

static void a_closed_descriptor_is_an_error(void **state)
{
    (void)state;
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100); /* above those of the pipe */
    close(fd);
    const struct run_stdin source = from_descriptor(fd);
    assert_int_equal(start(&source), -EBADF);
    assert_int_equal(bench.pump.sink_fd, -1);
}

static void a_program_that_closes_its_end_stops_it(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    const struct run_stdin sources[] = {from_bytes(large, LARGE), from_descriptor(pair[0])};
    for (size_t i = 0; i < ARRAY_LENGTH(sources); i++) {
        assert_int_equal(start(&sources[i]), 0);
        run_for(QUIET_MS);
        assert_true(bench.pump.sink_fd >= 0);
        fd_close(&bench.program_fd);
        run_for(QUIET_MS);
        assert_int_equal(bench.pump.sink_fd, -1);
    }
    /* What comes later is left to others. */
    assert_int_equal(write(pair[1], "later", 5), 5);
    run_for(QUIET_MS);
    char text[8];
    assert_int_equal(read(pair[0], text, sizeof(text)), 5);
    close(pair[0]);
    close(pair[1]);
}

static int64_t processor_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * NANOSECONDS_PER_SECOND + used.tv_nsec;
}

static void a_source_that_has_ended_is_not_asked_while_the_pipe_is_full(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    int size = fcntl(pair[1], F_SETPIPE_SZ, 1 << 18);
    assert_true(size >= 1 << 18);
    assert_int_equal(write(pair[1], large, 1 << 18), 1 << 18);
    close(pair[1]);
    const struct run_stdin source = from_descriptor(pair[0]);
    assert_int_equal(start(&source), 0);
    int64_t before = processor_time();
    run_for(4 * QUIET_MS);
    assert_true(processor_time() - before < 2 * QUIET_MS * NANOSECONDS_PER_MILLISECOND);
    assert_true(bench.pump.length > 0);
    expect_all(large, 1 << 18);
    close(pair[0]);
}

/* Another reader of the same pipe takes what epoll has told of: the loop must not wait for more. */
static void bytes_that_another_reader_took_are_not_waited_for(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    const struct run_stdin source = from_descriptor(pair[0]);
    assert_int_equal(start(&source), 0);
    bench.pump.source.ready(&bench.pump.source, EPOLLIN);
    assert_int_equal(write(pair[1], "still", 5), 5);
    read_until(5);
    assert_memory_equal(bench.bytes, "still", 5);
    close(pair[0]);
    close(pair[1]);
}

static void closing_twice_is_fine(void **state)
{
    (void)state;
    const struct run_stdin source = from_bytes(large, LARGE);
    assert_int_equal(start(&source), 0);
    stdin_pump_close(&bench.pump);
    stdin_pump_close(&bench.pump);
    read_until(SIZE_MAX);
    assert_true(bench.ended && bench.length < LARGE);
}

int main(void)
{
#define PUMP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PUMP_TEST(few_bytes_are_in_the_pipe_at_once),
        PUMP_TEST(no_bytes_are_the_end),
        PUMP_TEST(more_bytes_than_a_pipe_holds_wait_for_the_reader),
        PUMP_TEST(a_pipe_is_passed_on_as_it_comes),
        PUMP_TEST(a_regular_file_is_passed_on),
        PUMP_TEST(a_socket_is_passed_on),
        PUMP_TEST(a_terminal_is_passed_on_line_by_line),
        PUMP_TEST(what_cannot_be_read_is_the_end),
        PUMP_TEST(a_closed_descriptor_is_an_error),
        PUMP_TEST(a_program_that_closes_its_end_stops_it),
        PUMP_TEST(a_source_that_has_ended_is_not_asked_while_the_pipe_is_full),
        PUMP_TEST(bytes_that_another_reader_took_are_not_waited_for),
        PUMP_TEST(closing_twice_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
