#include "interpreter/settings/preload.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void only_names_of_modules_are_taken(void **state)
{
    (void)state;
    static const char *const good[] = {"numpy", "numpy,pandas", "a.b.c", "_x1,y_2.z"};
    static const char *const bad[] = {"",   ",",   "a,",  ",a",  "a..b", "a.",   ".a",
                                      "1a", "a b", "a'b", "a;b", "a.1",  "a\nb", "\xc3\xa9"};
    struct fault fault = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
        assert_int_equal(preload_check("--preload", good[i], &fault), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        if (preload_check("--preload", bad[i], &fault) != -EINVAL)
            fail_msg("%s", bad[i]);
        assert_ptr_equal(strstr(fault.text, "--preload: "), fault.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_names_of_modules_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
