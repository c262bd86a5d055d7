#include "images/unpack/member.h"
#include "images/unpack/package.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void names_are_brought_into_plain_form(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plain;
    } cases[] = {
        {"usr/bin/x", "usr/bin/x"},
        {"./usr//bin/./x/", "usr/bin/x"},
        {"./", ""},
        {"", ""},
        {"..x/x..", "..x/x.."},
        {"...", "..."},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char plain[PATH_MAX];
        assert_int_equal(member_name_normalize(cases[i].name, plain, NULL), 0);
        assert_string_equal(plain, cases[i].plain);
    }
}

static void names_that_lead_out_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"/etc/passwd", "//x",       "..",    "../x",
                                        "a/..",        "a/../../x", "./../x"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char plain[PATH_MAX];
        struct fault fault = {0};
        assert_int_equal(member_name_normalize(names[i], plain, &fault), -EBADMSG);
        assert_non_null(strstr(fault.text, names[i]));
    }
}

static void names_have_a_depth_and_a_length(void **state)
{
    (void)state;
    char name[PATH_MAX + 512] = "", plain[PATH_MAX];
    for (int i = 0; i < TREE_DEPTH_MAX; i++)
        strcat(name, "a/");
    assert_int_equal(member_name_normalize(name, plain, NULL), 0);
    strcat(name, "a");
    assert_int_equal(member_name_normalize(name, plain, NULL), -EBADMSG);

    memset(name, 'b', NAME_MAX + 1);
    name[NAME_MAX + 1] = '\0';
    assert_int_equal(member_name_normalize(name, plain, NULL), -EBADMSG);
    name[NAME_MAX] = '\0';
    assert_int_equal(member_name_normalize(name, plain, NULL), 0);

    for (size_t i = 0; i < PATH_MAX; i++)
        name[i] = i % 250 == 249 ? '/' : 'c';
    name[PATH_MAX] = '\0';
    assert_int_equal(member_name_normalize(name, plain, NULL), -EBADMSG);
}

static void terminals_see_no_control_characters(void **state)
{
    (void)state;
    char shown[256];
    assert_string_equal(member_name_for_people("a\x1b[31m\n\x7f\xc3\xa4", shown),
                        "a?[31m??\xc3\xa4");
}

static void packages_leave_out_what_nobody_reads(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        mode_t type;
        bool wanted;
    } cases[] = {
        {"usr/bin/bash", S_IFREG, true},
        {"usr/share/man/man1/bash.1.gz", S_IFREG, false},
        {"usr/share/man", S_IFDIR, false},
        {"usr/share/manual", S_IFDIR, true},
        {"usr/share/doc", S_IFDIR, false},
        {"usr/share/doc/bash/copyright", S_IFREG, true},
        {"usr/share/doc/bash/changelog.gz", S_IFREG, false},
        {"usr/share/doc/libgcc-s1", S_IFLNK, true},
        {"usr/lib/python3/dist-packages/numpy/tests/test_x.py", S_IFREG, false},
        {"usr/lib/python3/dist-packages/numpy/tests/data/x.csv", S_IFREG, false},
        {"usr/lib/python3/dist-packages/numpy/tests/helper.py", S_IFREG, true},
        {"usr/lib/python3/dist-packages/numpy/testing/test_x.py", S_IFREG, true},
        {"usr/lib/python3/dist-packages/x/y/tests/results/values.py", S_IFREG, false},
        {"usr/lib/python3/dist-packages/x/y/tests/results.py", S_IFREG, true},
        {"usr/lib/python3/dist-packages/x/results/values.py", S_IFREG, true},
        {"usr/share/docs/x/index.html", S_IFREG, false},
        {"usr/share/nodejs/x/tests/test_x.py", S_IFREG, true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (package_member_wanted(cases[i].name, cases[i].type) != cases[i].wanted)
            fail_msg("%s", cases[i].name);
}

static void merged_directories_are_below_usr(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_directory;
        const char *place;
    } cases[] = {
        {"bin/sh", false, "usr/bin/sh"},
        {"lib/x/y", false, "usr/lib/x/y"},
        {"lib", true, "usr/lib"},
        {"lib", false, "lib"},
        {"lib64/ld.so", false, "usr/lib64/ld.so"},
        {"libexec/x", false, "libexec/x"},
        {"usr/bin/x", false, "usr/bin/x"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char place[PATH_MAX];
        assert_true(package_member_place(cases[i].name, cases[i].is_directory, place));
        assert_string_equal(place, cases[i].place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_brought_into_plain_form),
        cmocka_unit_test(names_that_lead_out_are_refused),
        cmocka_unit_test(names_have_a_depth_and_a_length),
        cmocka_unit_test(terminals_see_no_control_characters),
        cmocka_unit_test(packages_leave_out_what_nobody_reads),
        cmocka_unit_test(merged_directories_are_below_usr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
