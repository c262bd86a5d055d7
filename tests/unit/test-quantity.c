#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define REFUSED UINT64_MAX

struct reading {
    const char *text;
    uint64_t expected; /* REFUSED */
};

typedef int (*quantity_reader)(const struct quantity *, const char *, uint64_t *, struct fault *);

static void assert_readings(quantity_reader read, const struct quantity *quantity,
                            const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number = REFUSED;
        struct fault fault = {0};
        int r = read(quantity, readings[i].text, &number, &fault);
        if (r != (readings[i].expected == REFUSED ? -EINVAL : 0) || number != readings[i].expected)
            fail_msg("\"%s\": %d, %llu", readings[i].text, r, (unsigned long long)number);
        if (r < 0 && strncmp(fault.text, "--it must be ", strlen("--it must be ")) != 0)
            fail_msg("\"%s\": %s", readings[i].text, fault.text);
    }
}

static void numbers_are_whole_and_within_their_range(void **state)
{
    (void)state;
    static const struct quantity quantity = {.what = "--it", .low = 1, .high = 9};
    static const struct reading readings[] = {
        {"1", 1},        {"9", 9},         {"007", 7},
        {"", REFUSED},   {"x", REFUSED},   {"7x", REFUSED},
        {"0", REFUSED},  {"10", REFUSED},  {"1.5", REFUSED},
        {"-1", REFUSED}, {"+1", REFUSED},  {" 1", REFUSED},
        {"1 ", REFUSED}, {"0x1", REFUSED}, {"99999999999999999999", REFUSED},
    };
    assert_readings(quantity_read_integer, &quantity, readings, ARRAY_LENGTH(readings));
    struct fault fault = {0};
    quantity_read_integer(&quantity, "x", &(uint64_t){0}, &fault);
    assert_string_equal(fault.text, "--it must be a whole number from 1 to 9, not \"x\"");
}

static void sizes_have_units_of_1024(void **state)
{
    (void)state;
    static const struct quantity quantity = {.what = "--it", .low = KIBIBYTE, .high = TEBIBYTE};
    static const struct reading readings[] = {
        {"1024", KIBIBYTE},
        {"1K", KIBIBYTE},
        {"1k", KIBIBYTE},
        {"3KiB", 3 * KIBIBYTE},
        {"512M", 512 * MEBIBYTE},
        {"512mib", 512 * MEBIBYTE},
        {"2G", 2 * GIBIBYTE},
        {"1T", TEBIBYTE},
        {"1099511627776", TEBIBYTE},
        {"1099511627777", REFUSED},
        {"2T", REFUSED},
        {"1023", REFUSED},
        {"0", REFUSED},
        {"0M", REFUSED},
        {"", REFUSED},
        {"M", REFUSED},
        {"-1M", REFUSED},
        {"1.5G", REFUSED},
        {"1 M", REFUSED},
        {"512MB", 512 * MEBIBYTE},
        {"3kb", 3 * KIBIBYTE},
        {"1 MB", REFUSED},
        {"1MBit", REFUSED},
        {"1B", REFUSED},
        {"1P", REFUSED},
        {"1Mx", REFUSED},
        {"18446744073709551616", REFUSED},
        {"18446744073709551615T", REFUSED},
        {"16777216T", REFUSED}, /* 2^64 */
    };
    assert_readings(quantity_read_size, &quantity, readings, ARRAY_LENGTH(readings));
    struct fault fault = {0};
    quantity_read_size(&quantity, "x", &(uint64_t){0}, &fault);
    assert_non_null(strstr(fault.text, "from 1 KiB to 1 TiB"));
    assert_non_null(strstr(fault.text, "512M"));
}

static void fractions_become_thousandths(void **state)
{
    (void)state;
    static const struct quantity quantity = {
        .what = "--it", .unit = "seconds", .low = 1, .high = 60000};
    static const struct reading readings[] = {
        {"1", 1000},       {"2.5", 2500},       {"0.001", 1},      {".5", 500},
        {"60", 60000},     {"1e1", 10000},      {"0.0015", 2},     {"0", REFUSED},
        {"-1", REFUSED},   {"0.0001", REFUSED}, {"60.1", REFUSED}, {"nan", REFUSED},
        {"inf", REFUSED},  {"1e308", REFUSED},  {"1s", REFUSED},   {"", REFUSED},
        {"0x10", REFUSED}, {" 1", REFUSED},     {"1-", REFUSED},   {".", REFUSED},
    };
    assert_readings(quantity_read_thousandths, &quantity, readings, ARRAY_LENGTH(readings));
    struct fault fault = {0};
    quantity_read_thousandths(&quantity, "x", &(uint64_t){0}, &fault);
    assert_string_equal(fault.text, "--it must be a number of seconds from 0.001 to 60, not \"x\"");
}

static void durations_have_units(void **state)
{
    (void)state;
    static const struct quantity quantity = {.what = "--it", .low = 1, .high = 7200000};
    static const struct reading readings[] = {
        {"1", 1000},        {"2.5", 2500},     {"90s", 90000},     {"500ms", 500},
        {"1m", 60000},      {"1.5m", 90000},   {"2min", 120000},   {"2h", 7200000},
        {".5s", 500},       {"1e1s", 10000},   {"0.4ms", REFUSED}, {"3h", REFUSED},
        {"1d", REFUSED},    {"1M", REFUSED},   {"1 s", REFUSED},   {"s", REFUSED},
        {"", REFUSED},      {"-1s", REFUSED},  {"1mm", REFUSED},   {"0x1s", REFUSED},
        {"1h30m", REFUSED}, {"nans", REFUSED}, {"infs", REFUSED},
    };
    assert_readings(quantity_read_duration, &quantity, readings, ARRAY_LENGTH(readings));
    struct fault fault = {0};
    quantity_read_duration(&quantity, "x", &(uint64_t){0}, &fault);
    assert_non_null(strstr(fault.text, "from 0.001 to 7200"));
    assert_non_null(strstr(fault.text, "500ms, 90s, 5m or 1h"));
}

static void sizes_are_told_in_their_largest_unit(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *exact, *about;
    } cases[] = {
        {0, "0 bytes", "0 bytes"},
        {1000, "1000 bytes", "1000 bytes"},
        {KIBIBYTE, "1 KiB", "1 KiB"},
        {1536, "1536 bytes", "1.5 KiB"},
        {512 * MEBIBYTE, "512 MiB", "512 MiB"},
        {512 * MEBIBYTE - 4 * KIBIBYTE, "524284 KiB", "512.0 MiB"},
        {1500 * MEBIBYTE, "1500 MiB", "1.5 GiB"},
        {2 * GIBIBYTE, "2 GiB", "2 GiB"},
        {TEBIBYTE, "1 TiB", "1 TiB"},
        {UINT64_MAX, "18446744073709551615 bytes", "16777216.0 TiB"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_string_equal(quantity_size_text(cases[i].bytes).text, cases[i].exact);
        assert_string_equal(quantity_size_about_text(cases[i].bytes).text, cases[i].about);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_whole_and_within_their_range),
        cmocka_unit_test(sizes_have_units_of_1024),
        cmocka_unit_test(fractions_become_thousandths),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(sizes_are_told_in_their_largest_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
