#include "sandbox/upper_store.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int directory_make(void **state)
{
    static char path[64];
    strcpy(path, "/tmp/test-upper-store-XXXXXX");
    *state = mkdtemp(path);
    return *state == NULL ? -1 : 0;
}

static int directory_remove(void **state)
{
    return tree_remove(AT_FDCWD, *state);
}

static bool exists(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s%s", directory, name[0] != '\0' ? "/" : "", name);
    return access(path, F_OK) == 0;
}

static void make(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void dead_servers_are_swept_and_live_ones_are_not(void **state)
{
    const char *path = *state;
    OWNED(upper_store_close) struct upper_store live = UPPER_STORE_NONE;
    assert_int_equal(upper_store_open(&live, path, NULL), 0);
    make(path, "server-dead");
    make(path, "server-dead/run-1");
    make(path, "server-dead/run-1/closed");
    make(path, "of another");
    OWNED(upper_store_close) struct upper_store other = UPPER_STORE_NONE;
    assert_int_equal(upper_store_open(&other, path, NULL), 0);
    assert_false(exists(path, "server-dead"));
    assert_true(exists(path, "of another"));
    assert_true(exists(live.path, "") && exists(other.path, ""));
    assert_string_not_equal(live.path, other.path);
}

static void closed_store_leaves_nothing(void **state)
{
    struct upper_store store = UPPER_STORE_NONE;
    assert_int_equal(upper_store_open(&store, *state, NULL), 0);
    struct upper_directory directory;
    assert_int_equal(upper_directory_make(&store, geteuid(), getegid(), &directory, NULL), 0);
    make(directory.path, "x");
    char own[256];
    snprintf(own, sizeof(own), "%s", store.path);
    upper_store_close(&store);
    assert_false(exists(own, ""));
    upper_directory_remove(&directory); /* a result may outlive its engine */
    upper_store_close(&store);
}

static void each_directory_is_new_and_removed_with_what_is_in_it(void **state)
{
    OWNED(upper_store_close) struct upper_store store = UPPER_STORE_NONE;
    assert_int_equal(upper_store_open(&store, *state, NULL), 0);
    struct upper_directory one = UPPER_DIRECTORY_NONE;
    struct upper_directory two = UPPER_DIRECTORY_NONE;
    assert_int_equal(upper_directory_make(&store, geteuid(), getegid(), &one, NULL), 0);
    make(one.path, "x");
    assert_int_equal(fchmodat(one.fd, "x", 0, 0), 0);
    char first[256];
    snprintf(first, sizeof(first), "%s", one.path);
    struct upper_directory taken = upper_directory_take(&one);
    assert_null(one.path);
    upper_directory_remove(&one);
    assert_true(exists(first, ""));
    upper_directory_remove(&taken);
    assert_false(exists(first, ""));
    assert_int_equal(upper_directory_make(&store, geteuid(), getegid(), &two, NULL), 0);
    assert_string_not_equal(two.path, first);
    struct stat status;
    assert_int_equal(stat(two.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_true(status.st_dev == two.device && status.st_ino == two.inode);
    upper_directory_remove(&two);
}

static void missing_directory_is_a_fault_that_names_it(void **state)
{
    (void)state;
    struct upper_store store = UPPER_STORE_NONE;
    struct fault fault = {0};
    assert_int_equal(upper_store_open(&store, "/nonexistent", &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nonexistent"));
    assert_null(store.path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, directory_make, directory_remove)
    const struct CMUnitTest tests[] = {
        TEST(dead_servers_are_swept_and_live_ones_are_not),
        TEST(closed_store_leaves_nothing),
        TEST(each_directory_is_new_and_removed_with_what_is_in_it),
        TEST(missing_directory_is_a_fault_that_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
