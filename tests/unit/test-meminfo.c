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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_is_less_than_an_eighth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
