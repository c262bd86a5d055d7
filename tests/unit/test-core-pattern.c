#include "sandbox/jail/core_pattern.h"

#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void only_a_hard_limit_of_0_beside_a_program_or_socket_is_refused(void **state)
{
    (void)state;
    static const struct {
        rlim_t hard;
        const char *text;
        int expected;
    } table[] = {
        {RLIM_INFINITY, "|/usr/lib/systemd/systemd-coredump %P", 0},
        {1, "|/usr/bin/handler", 0},
        {0, "core\n", 0},
        {0, "", 0},
        {0, "|/usr/bin/handler %p\n", -EPERM},
        {0, "@/run/coredump.socket", -EPERM},
        {0, "@@/run/coredump.socket", -EPERM},
        {0, NULL, -EPERM},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct fault fault = {0};
        assert_int_equal(core_pattern_check_text(table[i].hard, table[i].text, &fault),
                         table[i].expected);
        assert_int_equal(table[i].expected != 0, strstr(fault.text, "ulimit -Hc 1") != NULL);
        assert_null(strchr(fault.text, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_hard_limit_of_0_beside_a_program_or_socket_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
