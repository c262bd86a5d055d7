#include "images/base/activity.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define SECOND NANOSECONDS_PER_SECOND

/* The clock is the test's, so that nothing waits. */
static int64_t look(struct activity *activity, int64_t second)
{
    const pid_t self = getpid();
    return activity_look(activity, &self, 1, second * SECOND);
}

static void nothing_done_is_told_until_something_is_written(void **state)
{
    (void)state;
    struct activity activity = {0};
    activity_begin(&activity, 0);
    look(&activity, 1000);
    assert_int_equal(look(&activity, 2000), 1000 * SECOND);
    assert_int_equal(look(&activity, 3000), 2000 * SECOND);
    OWNED_FD int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(look(&activity, 4000), 0);
    assert_int_equal(look(&activity, 5000), 1000 * SECOND);
}

static void what_a_child_writes_counts(void **state)
{
    (void)state;
    struct activity activity = {0};
    int go[2], done[2];
    char byte;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(done, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(read(go[0], &byte, 1) == 1 && write(done[1], "x", 1) == 1 ? (int)read(go[0], &byte, 1)
                                                                        : 1);
    assert_true(child > 0);
    activity_begin(&activity, 0);
    look(&activity, 1000);
    assert_int_equal(write(go[1], "x", 1), 1); /* ours, in the same look */
    assert_int_equal(read(done[0], &byte, 1), 1);
    uint64_t before = activity.written;
    assert_int_equal(look(&activity, 2000), 0);
    assert_int_equal(activity.written - before, 2);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (size_t i = 0; i < ARRAY_LENGTH(go); i++) {
        fd_close(&go[i]);
        fd_close(&done[i]);
    }
}

static void computing_counts(void **state)
{
    (void)state;
    struct activity activity = {0};
    activity_begin(&activity, 0);
    activity_look(&activity, &(const pid_t){getpid()}, 1, SECOND);
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 300000000);
    activity_look(&activity, &(const pid_t){getpid()}, 1, 2 * SECOND);
    assert_int_equal(activity.active_at, 2 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_done_is_told_until_something_is_written),
        cmocka_unit_test(what_a_child_writes_counts),
        cmocka_unit_test(computing_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
