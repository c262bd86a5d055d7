#include "sandbox/limits/meminfo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct meminfo parsed(const char *text)
{
    struct meminfo memory;
    meminfo_parse(text, &memory);
    return memory;
}

static void short_is_less_than_an_eighth(void **state)
{
    (void)state;
    assert_true(parsed("MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable:  999 kB\n").is_low);
    assert_false(parsed("MemTotal:  8000 kB\nMemFree: 100 kB\nMemAvailable: 1000 kB\n").is_low);
    assert_false(parsed("").is_low); /* nothing is known */
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
        {"", false},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(parsed(table[i].meminfo).is_nearly_exhausted,
                         table[i].is_nearly_exhausted);
}

static void shared_memory_is_in_bytes(void **state)
{
    (void)state;
    assert_int_equal(parsed("MemTotal: 9 kB\nShmem: 3 kB\nShmemHugePages: 7 kB\n").shared_bytes,
                     3072);
    assert_int_equal(parsed("").shared_bytes, 0);
}

static void kernel_memory_is_what_no_other_line_tells(void **state)
{
    (void)state;
    assert_int_equal(
        parsed("MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 500 kB\nBuffers: 10 kB\n"
               "Cached: 200 kB\nSwapCached: 1 kB\nAnonPages: 300 kB\nShmem: 50 kB\n"
               "KReclaimable: 40 kB\nSReclaimable: 30 kB\nSUnreclaim: 60 kB\nKernelStack: 8 kB\n"
               "PageTables: 9 kB\nHugetlb: 20 kB\nBalloon: 5 kB\n")
            .kernel_bytes,
        (1000 - 100 - 10 - 200 - 1 - 300 - 40 - 9 - 20 - 5) * 1024);
    assert_int_equal(parsed("MemTotal: 10 kB\nMemFree: 8 kB\nCached: 3 kB\n").kernel_bytes, 0);
    assert_int_equal(parsed("").kernel_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_is_less_than_an_eighth),
        cmocka_unit_test(nearly_exhausted_is_less_than_a_twentieth_and_the_reserve),
        cmocka_unit_test(shared_memory_is_in_bytes),
        cmocka_unit_test(kernel_memory_is_what_no_other_line_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
