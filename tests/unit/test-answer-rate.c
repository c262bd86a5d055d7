#include "fleet/answer_rate.h"

#include "sandbox/base/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define EMPTY                                                                                      \
    ((struct answer_rate){                                                                         \
        .of_front = {5, 5}, .of_all = {12, 12}, .mutex = PTHREAD_MUTEX_INITIALIZER})

static const int64_t start = 100 * NANOSECONDS_PER_SECOND;

static unsigned count(struct answer_rate *rate, const char *front, int64_t now)
{
    unsigned allowed = 0;
    for (unsigned i = 0; i < 1000; i++)
        allowed += answer_rate_allows(rate, front, now);
    return allowed;
}

static void bounds_each_front_end(void **state)
{
    (void)state;
    struct answer_rate rate = EMPTY;
    assert_int_equal(count(&rate, "bob", start), 5);
    assert_int_equal(count(&rate, "alice", start), 5);
    assert_int_equal(count(&rate, "bob", start + NANOSECONDS_PER_SECOND), 5);
    assert_int_equal(count(&rate, "bob", start + NANOSECONDS_PER_SECOND * 6 / 5), 1);
    assert_int_equal(count(&rate, "bob", start + 100 * NANOSECONDS_PER_SECOND), 5);
}

static void bounds_all_together(void **state)
{
    (void)state;
    struct answer_rate rate = EMPTY;
    unsigned allowed = 0;
    for (unsigned i = 0; i < 3 * ANSWER_FRONTS_MAX; i++) {
        char front[16];
        snprintf(front, sizeof(front), "front-%u", i);
        allowed += count(&rate, front, start);
    }
    assert_int_equal(allowed, 12);
    assert_int_equal(count(&rate, "front-0", start + NANOSECONDS_PER_SECOND), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_each_front_end),
        cmocka_unit_test(bounds_all_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
