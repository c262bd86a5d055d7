#include "sandbox/call_channel.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define QUIET_MS 20
#define PIECES_MAX 128

/* A channel, the program's ends of it, and what has come. */
static struct bench {
    struct loop loop;
    struct loop_timer timer;
    struct call_channel *channel;
    int calls[2], results[2];
    uint32_t came[PIECES_MAX]; /* numbers of calls */
    size_t came_count, broken_count;
    int verdict; /* of the next piece */
    bool is_answered_later;
} bench;

static void on_timer(struct loop_timer *timer)
{
    (void)timer;
    loop_stop(&bench.loop);
}

static void run_for_a_while(void)
{
    loop_arm(&bench.loop, &bench.timer, clock_now() + QUIET_MS * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(loop_run(&bench.loop), 0);
}

static void answer_later(void)
{
    char byte;
    assert_int_equal(recv(bench.results[1], &byte, 1, MSG_PEEK | MSG_DONTWAIT), -1);
    assert_true(call_channel_add_text(bench.channel, CALL_RESULT, "[]", 2));
    call_channel_go_on_later(bench.channel);
}

static int came(void *data, struct call_channel *channel, const struct call_piece *piece)
{
    assert_ptr_equal(data, &bench);
    assert_ptr_equal(channel, bench.channel);
    if (bench.is_answered_later)
        answer_later();
    if (bench.came_count < PIECES_MAX)
        bench.came[bench.came_count++] = piece->call;
    return bench.verdict;
}

static void broken(void *data)
{
    assert_ptr_equal(data, &bench);
    bench.broken_count++;
}

static int set_up(void **state)
{
    (void)state;
    bench = (struct bench){.timer = {.fire = on_timer}};
    assert_int_equal(loop_open(&bench.loop), 0);
    assert_int_equal(pipe2(bench.calls, O_CLOEXEC), 0);
    assert_int_equal(fcntl(bench.calls[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bench.results), 0);
    const struct call_channel_observer observer = {came, broken, &bench};
    bench.channel = call_channel_new(&bench.loop, &observer);
    assert_non_null(bench.channel);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    call_channel_free(bench.channel);
    for (int i = 0; i < 2; i++) {
        fd_close(&bench.calls[i]);
        fd_close(&bench.results[i]);
    }
    loop_close(&bench.loop);
    return 0;
}

static void begin(void)
{
    assert_true(call_channel_begin(bench.channel, bench.calls[0], bench.results[0]));
}

static void write_frame(uint32_t kind, uint32_t call)
{
    const struct call_header frame = {.kind = kind, .call = call};
    assert_int_equal(write(bench.calls[1], &frame, sizeof(frame)), sizeof(frame));
}

/* The header of the next packet for the program; kind 0: there is none. */
static struct call_header next_packet(void)
{
    static char packet[CALL_PACKET_MAX];
    struct call_header header = {0};
    ssize_t length = recv(bench.results[1], packet, sizeof(packet), MSG_DONTWAIT);
    if (length < 0)
        return header;
    assert_true((size_t)length >= sizeof(header));
    memcpy(&header, packet, sizeof(header));
    assert_int_equal((size_t)length, sizeof(header) + header.bytes);
    return header;
}

static void sends_what_was_added_before_it_began(void **state)
{
    (void)state;
    assert_true(call_channel_add_text(bench.channel, CALL_PROGRAM, "program", 7));
    assert_true(call_channel_add_text(bench.channel, CALL_RESULT, "[]", 2));
    assert_true(call_channel_has_unsent(bench.channel));
    begin();
    assert_false(call_channel_has_unsent(bench.channel));
    assert_int_equal(next_packet().kind, CALL_PROGRAM);
    assert_int_equal(next_packet().kind, CALL_RESULT);
    assert_int_equal(next_packet().kind, 0);
}

static void tells_pieces_in_their_order(void **state)
{
    (void)state;
    begin();
    for (uint32_t call = 1; call <= 3; call++)
        write_frame(CALL_CANCEL, call);
    run_for_a_while();
    assert_int_equal(bench.came_count, 3);
    for (uint32_t call = 1; call <= 3; call++)
        assert_int_equal(bench.came[call - 1], call);
    assert_int_equal(bench.broken_count, 0);
}

static void is_broken_once_by_what_is_no_frame(void **state)
{
    (void)state;
    begin();
    write_frame(CALL_CANCEL, 1);
    write_frame(CALL_RESULT, 2); /* the server's */
    write_frame(CALL_CANCEL, 3);
    run_for_a_while();
    write_frame(CALL_CANCEL, 4);
    run_for_a_while();
    assert_int_equal(bench.came_count, 1);
    assert_int_equal(bench.broken_count, 1);
}

static void is_broken_by_a_piece_that_may_not_come(void **state)
{
    (void)state;
    begin();
    bench.verdict = -EPROTO;
    write_frame(CALL_CANCEL, 1);
    write_frame(CALL_CANCEL, 2);
    run_for_a_while();
    assert_int_equal(bench.came_count, 1);
    assert_int_equal(bench.broken_count, 1);
}

static void long_answers_come_in_packets(void **state)
{
    (void)state;
    static char text[3 * CALL_PACKET_MAX];
    begin();
    assert_true(call_channel_add_text(bench.channel, CALL_RESULT, text, sizeof(text)));
    call_channel_go_on(bench.channel);
    size_t length = 0, packets = 0;
    struct call_header header;
    do {
        while ((header = next_packet()).kind == 0)
            run_for_a_while();
        length += header.bytes;
        packets++;
    } while ((header.flags & CALL_LAST) == 0);
    assert_int_equal(length, sizeof(text));
    assert_int_equal(packets, 4);
}

/* What was asked for at once is read before any of it is answered: so a turn has an end. */
static void answers_later_than_it_reads(void **state)
{
    (void)state;
    bench.is_answered_later = true;
    for (uint32_t call = 1; call <= 3; call++)
        write_frame(CALL_LIST, call);
    begin();
    run_for_a_while();
    assert_int_equal(bench.came_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next_packet().kind, CALL_RESULT);
    assert_false(call_channel_has_unsent(bench.channel));
}

static void catches_up_without_the_loop(void **state)
{
    (void)state;
    begin();
    for (uint32_t call = 1; call <= 3; call++)
        write_frame(CALL_LIST, call);
    call_channel_catch_up(bench.channel);
    assert_int_equal(bench.came_count, 3);
    call_channel_catch_up(bench.channel);
    assert_int_equal(bench.came_count, 3);
    write_frame(CALL_RESULT, 4);
    call_channel_catch_up(bench.channel);
    assert_int_equal(bench.broken_count, 1);
}

/* A pipe that is full is taken as a whole. */
static void catches_up_with_all_that_a_pipe_holds(void **state)
{
    (void)state;
    size_t count = 0;
    const struct call_header frame = {.kind = CALL_LIST};
    begin();
    assert_int_equal(fcntl(bench.calls[1], F_SETFL, O_NONBLOCK), 0);
    while (write(bench.calls[1], &frame, sizeof(frame)) == (ssize_t)sizeof(frame))
        count++;
    assert_true(count > PIECES_MAX);
    call_channel_catch_up(bench.channel);
    assert_int_equal(write(bench.calls[1], &frame, sizeof(frame)), sizeof(frame));
    char left[2 * sizeof(frame)];
    assert_int_equal(read(bench.calls[0], left, sizeof(left)), sizeof(frame));
}

static void drops_what_it_catches_up_with_from_who_reads_no_answers(void **state)
{
    (void)state;
    static char text[CALL_PACKET_MAX];
    const struct call_header frame = {.kind = CALL_LIST};
    begin();
    for (int i = 0; i < 2 * CALL_ANSWERS_WAITING; i++)
        assert_true(call_channel_add_text(bench.channel, CALL_RESULT, text, sizeof(text)));
    call_channel_go_on(bench.channel);
    assert_int_equal(fcntl(bench.calls[1], F_SETFL, O_NONBLOCK), 0);
    while (write(bench.calls[1], &frame, sizeof(frame)) == (ssize_t)sizeof(frame))
        ;
    call_channel_catch_up(bench.channel);
    assert_int_equal(bench.came_count, 0);
    char left[sizeof(frame)];
    assert_int_equal(read(bench.calls[0], left, sizeof(left)), -1);
    assert_int_equal(errno, EAGAIN);
    write_frame(CALL_RESULT, 1);
    call_channel_catch_up(bench.channel);
    assert_int_equal(bench.broken_count, 1);
}

/* Nor is memory taken for it without an end. */
static void nothing_is_read_of_who_reads_no_answers(void **state)
{
    (void)state;
    static char text[CALL_PACKET_MAX];
    begin();
    for (int i = 0; i < 2 * CALL_ANSWERS_WAITING; i++)
        assert_true(call_channel_add_text(bench.channel, CALL_RESULT, text, sizeof(text)));
    call_channel_go_on(bench.channel);
    write_frame(CALL_CANCEL, 1);
    run_for_a_while();
    assert_int_equal(bench.came_count, 0);
    for (int i = 0; bench.came_count == 0 && i < 1000; i++) {
        while (next_packet().kind != 0)
            ;
        run_for_a_while();
    }
    assert_int_equal(bench.came_count, 1);
}

static void says_nothing_any_more_when_stopped(void **state)
{
    (void)state;
    begin();
    call_channel_stop(bench.channel);
    write_frame(CALL_CANCEL, 1);
    assert_true(call_channel_add_text(bench.channel, CALL_RESULT, "1", 1));
    call_channel_go_on(bench.channel);
    run_for_a_while();
    assert_int_equal(bench.came_count, 0);
    assert_int_equal(next_packet().kind, 0);
}

static void its_end_is_no_error(void **state)
{
    (void)state;
    begin();
    fd_close(&bench.calls[1]);
    fd_close(&bench.results[1]);
    run_for_a_while();
    assert_true(call_channel_add_text(bench.channel, CALL_RESULT, "1", 1));
    call_channel_go_on(bench.channel);
    run_for_a_while();
    assert_int_equal(bench.broken_count, 0);
    assert_false(call_channel_has_unsent(bench.channel));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_what_was_added_before_it_began),
        TEST(tells_pieces_in_their_order),
        TEST(is_broken_once_by_what_is_no_frame),
        TEST(is_broken_by_a_piece_that_may_not_come),
        TEST(long_answers_come_in_packets),
        TEST(answers_later_than_it_reads),
        TEST(catches_up_without_the_loop),
        TEST(catches_up_with_all_that_a_pipe_holds),
        TEST(drops_what_it_catches_up_with_from_who_reads_no_answers),
        TEST(nothing_is_read_of_who_reads_no_answers),
        TEST(says_nothing_any_more_when_stopped),
        TEST(its_end_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
