#include "sandbox/limits/meminfo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void short_is_less_than_an_eighth(void **state)
{
    (void)state;
    assert_true(
        meminfo_parse_is_low("MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable:  999 kB\n"));
    assert_false(
        meminfo_parse_is_low("MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable: 1000 kB\n"));
    assert_false(meminfo_parse_is_low("")); /* nothing is known */
}

static void nearly_exhausted_is_less_than_a_twentieth_and_the_reserve(void **state)
{
    (void)state;
    static const struct {
        const char *meminfo;
        bool is_nearly_exhausted;
    } table[] = {
        {"MemTotal: 2000000 kB\nMemFree: 1 kB\nMemAvailable:   99999 kB\n", true},
        {"MemTotal: 2000000 kB\nMemFree: 1 kB\nMemAvailable:  100000 kB\n", false},
        {"MemTotal: 9000000 kB\nMemFree: 1 kB\nMemAvailable:  262143 kB\n", true},
        {"MemTotal: 9000000 kB\nMemFree: 1 kB\nMemAvailable:  262144 kB\n", false},
        {"MemTotal: 9000000 kB\nMemFree: 1 kB\n", false}, /* not known */
        {"", false},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(meminfo_parse_is_nearly_exhausted(table[i].meminfo),
                         table[i].is_nearly_exhausted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_is_less_than_an_eighth),
        cmocka_unit_test(nearly_exhausted_is_less_than_a_twentieth_and_the_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
