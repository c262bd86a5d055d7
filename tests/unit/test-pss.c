#include "sandbox/limits/pss.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WATCHED_NS (INT64_C(100) * 1000000)
#define PATIENCE_NS (INT64_C(60) * 1000000000)

/* How much of that time such a process is blocked, in ns. */
static int64_t blocked_of(bool works)
{
    struct pss sum = PSS_NONE;
    sum.begun_at = clock_now();
    sum.pid = fork();
    assert_true(sum.pid >= 0);
    while (sum.pid == 0)
        if (!works)
            pause();
    while (clock_now() < sum.begun_at + WATCHED_NS)
        usleep(1000);
    int64_t blocked = pss_blocked_ns(&sum);
    kill(sum.pid, SIGKILL);
    assert_int_equal(waitpid(sum.pid, NULL, 0), sum.pid);
    return blocked;
}

/* A busy machine lets neither of the two begin, or tells late how long one was queued: then again. */
static void who_waits_is_blocked_and_who_works_is_not(void **state)
{
    (void)state;
    int64_t give_up_at = clock_now() + PATIENCE_NS;
    bool told_apart = false;
    while (!told_apart && clock_now() < give_up_at)
        told_apart = blocked_of(false) > WATCHED_NS / 2 && blocked_of(true) < WATCHED_NS / 4;
    assert_true(told_apart);
}

static void all_of_the_time_is_where_nothing_is_told(void **state)
{
    (void)state;
    struct pss sum = PSS_NONE;
    sum.pid = -1;
    sum.begun_at = clock_now() - WATCHED_NS;
    assert_true(pss_blocked_ns(&sum) >= WATCHED_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_blocked_and_who_works_is_not),
        cmocka_unit_test(all_of_the_time_is_where_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
