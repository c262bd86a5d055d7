#include "images/build/package_status.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX (1 << 20)
#define BEGIN "Package: a\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n"

static int rebuild(const char *status, struct buffer *text)
{
    struct fault fault = {0};
    return package_status_rebuild(status, text, &fault);
}

static void assert_rebuilt(const char *status, const char *expected)
{
    OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX);
    assert_int_equal(rebuild(status, &text), 0);
    const char *found = buffer_string(&text);
    assert_string_equal(found, expected);
}

static void keeps_what_the_resolver_needs(void **state)
{
    (void)state;
    assert_rebuilt(
        "Package: libc6\nStatus: hold ok installed\nMulti-Arch: same\nPriority: optional\n"
        "Architecture: amd64\nVersion: 2:2.41-12+deb13u1~x\n"
        "Provides: libc6-x (= 2.41), y [amd64]\nBreaks: z (<< 2), w:any (>= 1~)\n"
        "Depends: libgcc-s1 | q\nEssential: yes\nDescription: C\n a library\n .\n\n",
        "Package: libc6\nVersion: 2:2.41-12+deb13u1~x\nArchitecture: amd64\n"
        "Status: install ok installed\nMulti-Arch: same\nEssential: yes\n"
        "Provides: libc6-x (= 2.41), y [amd64]\nBreaks: z (<< 2), w:any (>= 1~)\n\n");
}

static void leaves_out_packages_that_are_not_installed(void **state)
{
    (void)state;
    assert_rebuilt("", "");
    assert_rebuilt("\n\n\n", "");
    assert_rebuilt("Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
                   "Package: b\nStatus: install ok half-installed\n\n" BEGIN,
                   "Package: a\nVersion: 1\nArchitecture: all\nStatus: install ok installed\n\n");
}

/* Continuations, fields apt would read and other words come from the image: none gets through. */
static void passes_on_no_other_field(void **state)
{
    (void)state;
    assert_rebuilt(BEGIN "Filename: /etc/shadow\nConffiles:\n /etc/x 0\nDepends: b\n"
                         " Package: c\nSHA256: 0\n\x01\xff: x\n:\nno colon\n\n",
                   "Package: a\nVersion: 1\nArchitecture: all\nStatus: install ok installed\n\n");
}

static void refuses_fields_of_another_form(void **state)
{
    (void)state;
    static const char *const cases[] = {
        BEGIN "Package: b\n",
        BEGIN "Provides: $(id)\n",
        BEGIN "Provides: a\tb\n",
        BEGIN "Breaks: \x01\n",
        BEGIN "Multi-Arch: SAME\n",
        "Status: install ok installed\nVersion: 1\nArchitecture: all\n",
        "Package: -o\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n",
        "Package: a b\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n",
        "Package: a/../b\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n",
        "Package: a\nStatus: install ok installed\nVersion: 1 2\nArchitecture: all\n",
        "Package: a\nStatus: install ok installed\nVersion: -1\nArchitecture: all\n",
        "Package: a\nStatus: install ok installed\nVersion: 1\n",
        "Package: a\nStatus: install ok installed\nVersion: 1\nArchitecture: a;b\n",
        "Package:\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(TEXT_MAX);
        if (rebuild(cases[i], &text) != -EINVAL)
            fail_msg("case %zu is not refused", i);
    }
}

static void refuses_what_is_too_long_or_too_much(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer status = BUFFER(16 << 20), text = BUFFER(16 << 20);
    assert_int_equal(buffer_format(&status, BEGIN "Provides: %0*d\n", (64 << 10) + 1, 0), 0);
    assert_int_equal(rebuild(buffer_string(&status), &text), -EINVAL);
    status.length = 0;
    for (int i = 0; i <= PACKAGE_STATUS_PACKAGES_MAX; i++)
        assert_int_equal(buffer_append_text(&status, BEGIN "\n"), 0);
    assert_int_equal(rebuild(buffer_string(&status), &text), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_the_resolver_needs),
        cmocka_unit_test(leaves_out_packages_that_are_not_installed),
        cmocka_unit_test(passes_on_no_other_field),
        cmocka_unit_test(refuses_fields_of_another_form),
        cmocka_unit_test(refuses_what_is_too_long_or_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
