#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct probe {
    struct loop *loop;
    struct loop_watch watch;
    struct loop_timer timer;
    struct probe *other;
    char *log;
    char name;
};

static void note(struct probe *probe)
{
    size_t length = strlen(probe->log);
    probe->log[length] = probe->name;
    probe->log[length + 1] = '\0';
}

static void on_timer(struct loop_timer *timer)
{
    struct probe *probe = container_of(timer, struct probe, timer);
    note(probe);
    if (probe->name == 'z')
        loop_stop(probe->loop);
}

static void timers_fire_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    struct loop loop;
    char log[8] = "";
    assert_int_equal(loop_open(&loop), 0);
    struct probe probes[3];
    int64_t now = clock_now();
    const char names[] = "zab";
    const int64_t delays[] = {30, 10, 20};
    for (int i = 0; i < 3; i++) {
        probes[i] = (struct probe){.loop = &loop, .log = log, .name = names[i]};
        probes[i].timer.fire = on_timer;
        loop_arm(&loop, &probes[i].timer, now + delays[i] * NANOSECONDS_PER_MILLISECOND);
    }
    assert_int_equal(loop_run(&loop), 0);
    assert_string_equal(log, "abz");
    assert_true(clock_now() - now >= 30 * NANOSECONDS_PER_MILLISECOND);
    loop_close(&loop);
}

static void a_disarmed_timer_does_not_fire(void **state)
{
    (void)state;
    struct loop loop;
    char log[8] = "";
    assert_int_equal(loop_open(&loop), 0);
    struct probe early = {.loop = &loop, .log = log, .name = 'a', .timer.fire = on_timer};
    struct probe last = {.loop = &loop, .log = log, .name = 'z', .timer.fire = on_timer};
    loop_arm(&loop, &early.timer, clock_now());
    loop_arm(&loop, &last.timer, clock_now() + NANOSECONDS_PER_MILLISECOND);
    loop_disarm(&loop, &early.timer);
    loop_disarm(&loop, &early.timer);
    assert_int_equal(loop_run(&loop), 0);
    assert_string_equal(log, "z");
    loop_close(&loop);
}

/* Ends the other's watch, whose descriptor is ready too. */
static void on_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct probe *probe = container_of(watch, struct probe, watch);
    note(probe);
    loop_unwatch(probe->loop, &probe->other->watch);
    loop_stop(probe->loop);
}

static void a_callback_may_end_a_watch_that_is_ready(void **state)
{
    (void)state;
    struct loop loop;
    char log[8] = "";
    int pipes[2][2];
    assert_int_equal(loop_open(&loop), 0);
    struct probe probes[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(pipes[i]), 0);
        assert_int_equal(write(pipes[i][1], "x", 1), 1);
        probes[i] = (struct probe){.loop = &loop, .log = log, .name = 'r', .watch.fd = -1};
        probes[i].other = &probes[1 - i];
        probes[i].watch.ready = on_ready;
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(loop_watch(&loop, &probes[i].watch, pipes[i][0], EPOLLIN), 0);
    assert_int_equal(loop_run(&loop), 0);
    assert_string_equal(log, "r");
    for (int i = 0; i < 2; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    loop_close(&loop);
}

#define TURNS_MAX 6

/* Stays ready. */
static void on_turn(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct probe *probe = container_of(watch, struct probe, watch);
    note(probe);
    if (strlen(probe->log) == TURNS_MAX)
        loop_stop(probe->loop);
}

static void a_loop_inside_takes_turns_as_one_descriptor(void **state)
{
    (void)state;
    struct loop outer;
    struct loop inner;
    char log[TURNS_MAX + 2] = "";
    int ends[2];
    struct probe probes[4];
    assert_int_equal(loop_open(&outer), 0);
    assert_int_equal(loop_open_inside(&outer, &inner), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    for (int i = 0; i < 4; i++) {
        int fd = dup(ends[0]);
        probes[i] = (struct probe){
            .loop = &outer, .log = log, .name = i == 0 ? 'o' : 'i', .watch = {-1, on_turn}};
        assert_int_equal(loop_watch(i == 0 ? &outer : &inner, &probes[i].watch, fd, EPOLLIN), 0);
    }
    struct probe late = {.loop = &outer, .log = log, .name = 't', .timer.fire = on_timer};
    loop_arm(&inner, &late.timer, clock_now() + NANOSECONDS_PER_SECOND);
    assert_ptr_equal(outer.timers, &late.timer);
    loop_disarm(&inner, &late.timer);
    assert_int_equal(loop_run(&outer), 0);
    assert_true(strcmp(log, "oioioi") == 0 || strcmp(log, "ioioio") == 0);
    for (int i = 0; i < 4; i++)
        close(probes[i].watch.fd);
    loop_close(&inner);
    loop_close(&outer);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_the_order_of_their_deadlines),
        cmocka_unit_test(a_disarmed_timer_does_not_fire),
        cmocka_unit_test(a_callback_may_end_a_watch_that_is_ready),
        cmocka_unit_test(a_loop_inside_takes_turns_as_one_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
