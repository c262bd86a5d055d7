#include "sandbox/memory_sum.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WATCHED_NS (INT64_C(200) * 1000000)

/* How much of that time such a process is blocked, in ns. */
static int64_t blocked_of(bool works)
{
    struct memory_sum sum = MEMORY_SUM_NONE;
    sum.begun_at = clock_now();
    sum.pid = fork();
    assert_true(sum.pid >= 0);
    while (sum.pid == 0)
        if (!works)
            pause();
    while (clock_now() < sum.begun_at + WATCHED_NS)
        usleep(1000);
    int64_t blocked = memory_sum_blocked_ns(&sum);
    kill(sum.pid, SIGKILL);
    assert_int_equal(waitpid(sum.pid, NULL, 0), sum.pid);
    return blocked;
}

static void who_waits_is_blocked_and_who_works_is_not(void **state)
{
    (void)state;
    int64_t waiting = blocked_of(false);
    int64_t working = blocked_of(true);
    assert_true(waiting > WATCHED_NS / 2);
    assert_true(working < waiting / 2);
}

static void all_of_the_time_is_where_nothing_is_told(void **state)
{
    (void)state;
    struct memory_sum sum = MEMORY_SUM_NONE;
    sum.pid = -1;
    sum.begun_at = clock_now() - WATCHED_NS;
    assert_true(memory_sum_blocked_ns(&sum) >= WATCHED_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_blocked_and_who_works_is_not),
        cmocka_unit_test(all_of_the_time_is_where_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
