#include "images/base/url_user.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_removed(const char *text, const char *expected)
{
    char own[256];
    snprintf(own, sizeof(own), "%s", text);
    url_users_remove(own);
    assert_string_equal(own, expected);
}

static void users_are_removed(void **state)
{
    (void)state;
    assert_removed("http://u:p@h/x", "http://h/x");
    assert_removed("--pip x @ git+https://token@h:1/y.git@v1",
                   "--pip x @ git+https://h:1/y.git@v1");
    assert_removed("https://u:p@@h", "https://h");
    assert_removed("curl 'https://a:b@c' http://d@e?f@g", "curl 'https://c' http://e?f@g");
    assert_removed("http://u@", "http://");
    assert_removed("https://u:p&x@h/y", "https://h/y");
    assert_removed("https://u:p;x@h/y", "https://h/y");
    assert_removed("git+https://bob:o'neil@h/y", "git+https://h/y");
    assert_removed("https://u:a|b@h/", "https://h/");
    assert_removed("http://a@://b@c", "http://://c");
}

static void the_rest_stays(void **state)
{
    (void)state;
    assert_removed("", "");
    assert_removed("://", "://");
    assert_removed("lodash@4 @types/node user@host:x", "lodash@4 @types/node user@host:x");
    assert_removed("http://h/a@b https://h#c@d", "http://h/a@b https://h#c@d");
    assert_removed("curl http://h && echo a@b", "curl http://h && echo a@b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_are_removed),
        cmocka_unit_test(the_rest_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
