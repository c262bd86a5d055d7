#include "images/unpack/hash_set.h"
#include "images/unpack/whiteout.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void members_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *member;
        enum whiteout_kind kind;
        const char *name;
    } cases[] = {
        {"a/b", WHITEOUT_NONE, NULL},
        {"wh.a", WHITEOUT_NONE, NULL},
        {".who", WHITEOUT_NONE, NULL},
        {".wh.a/b", WHITEOUT_NONE, NULL},
        {".wh.a", WHITEOUT_NAME, "a"},
        {"d/.wh.a", WHITEOUT_NAME, "a"},
        {"d/.wh....", WHITEOUT_NAME, "..."},
        {"d/.wh.wh.a", WHITEOUT_NAME, "wh.a"},
        {".wh..wh..opq", WHITEOUT_OPAQUE, NULL},
        {"d/e/.wh..wh..opq", WHITEOUT_OPAQUE, NULL},
        {".wh..wh..opq/x", WHITEOUT_IGNORED, NULL},
        {".wh..wh.plnk/1", WHITEOUT_IGNORED, NULL},
        {"d/.wh..wh.aufs", WHITEOUT_IGNORED, NULL},
        {".wh.", WHITEOUT_BAD, NULL},
        {"d/.wh..", WHITEOUT_BAD, NULL},
        {"d/.wh...", WHITEOUT_BAD, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct whiteout whiteout = whiteout_read(cases[i].member);
        if (whiteout.kind != cases[i].kind)
            fail_msg("%s", cases[i].member);
        if (cases[i].name != NULL)
            assert_string_equal(whiteout.name, cases[i].name);
    }
}

static void set_knows_each_name_in_its_directory(void **state)
{
    (void)state;
    struct hash_set set = {0};
    char name[32];
    assert_false(hash_set_has(&set, 1, "0"));
    for (ino_t directory = 1; directory <= 20; directory++) {
        for (int i = 0; i < 500; i++) {
            snprintf(name, sizeof(name), "%d", i);
            assert_int_equal(hash_set_add(&set, directory, name), 0);
        }
    }
    assert_int_equal(set.count, 10000);
    assert_int_equal(hash_set_add(&set, 7, "7"), 0);
    assert_int_equal(set.count, 10000);
    assert_true(hash_set_has(&set, 20, "499"));
    assert_false(hash_set_has(&set, 20, "500"));
    assert_false(hash_set_has(&set, 21, "499"));
    assert_false(hash_set_has(&set, 0, ""));
    hash_set_clear(&set);
    assert_false(hash_set_has(&set, 20, "499"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_told_apart),
        cmocka_unit_test(set_knows_each_name_in_its_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
