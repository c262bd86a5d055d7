#include "sandbox/jail/rlimits.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void each_resource_of_the_kernel_has_one_row(void **state)
{
    (void)state;
    size_t count;
    const struct rlimit_row *rows = rlimits_list(&count);
    assert_int_equal(count, RLIM_NLIMITS);
    for (int resource = 0; resource < (int)count; resource++)
        assert_non_null(rlimit_find(resource));
    assert_null(rlimit_find((int)count));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(strncmp(rows[i].name, "RLIMIT_", strlen("RLIMIT_")), 0);
}

static void what_runs_need_follows_their_limits(void **state)
{
    (void)state;
    const struct run_limits limits = {
        .memory_bytes = 11, .disk_bytes = 22, .processes = 33, .descriptors = 44};
    static const struct {
        int resource;
        rlim_t needed;
    } table[] = {
        {RLIMIT_DATA, 11},         {RLIMIT_FSIZE, 22},          {RLIMIT_NPROC, 33 + 2},
        {RLIMIT_NOFILE, 44},       {RLIMIT_CPU, RLIM_INFINITY}, {RLIMIT_CORE, 0},
        {RLIMIT_STACK, RUN_STACK}, {RLIMIT_AS, 64 * GIBIBYTE},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
        assert_true(rlimit_needed(rlimit_find(table[i].resource), &limits) == table[i].needed);
}

static void soft_limits_are_raised_and_hard_ones_stay(void **state)
{
    (void)state;
    struct rlimit low;
    struct rlimit after;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &low), 0);
    low.rlim_max = RUN_DISK_DEFAULT - 1;
    low.rlim_cur = MEBIBYTE;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    const struct rlimit cores = {0, 0};
    assert_int_equal(setrlimit(RLIMIT_CORE, &cores), 0);
    rlimits_raise();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &after), 0);
    assert_true(after.rlim_cur == low.rlim_max && after.rlim_max == low.rlim_max);
    const struct run_limits limits = run_limits_default();
    assert_true(rlimit_is_low(rlimit_find(RLIMIT_FSIZE), &limits));
    assert_false(rlimit_is_low(rlimit_find(RLIMIT_CORE), &limits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_of_the_kernel_has_one_row),
        cmocka_unit_test(what_runs_need_follows_their_limits),
        cmocka_unit_test(soft_limits_are_raised_and_hard_ones_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
