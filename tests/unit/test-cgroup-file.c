#include "sandbox/base/owned.h"
#include "sandbox/limits/cgroup_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void own_path_is_the_one_of_version_2(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"0::/user.slice/session-1.scope\n", "/user.slice/session-1.scope"},
        {"0::/\n", "/"},
        {"9:name=systemd:/x\n8:pids:/y\n0::/z\n", "/z"},
        {"9:name=systemd:/0::/x\n", NULL},
        {"", NULL},
        {"0::relative\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED_MEMORY char *path = cgroup_own_path(cases[i].text);
        if (cases[i].path == NULL)
            assert_null(path);
        else
            assert_string_equal(path, cases[i].path);
    }
}

#define LINE(root, point, type) "30 23 0:26 " root " " point " rw,nosuid - " type " none rw\n"

static void directory_follows_the_mount(void **state)
{
    (void)state;
    static const struct {
        const char *mounts, *path, *directory, *point;
    } cases[] = {
        {LINE("/", "/sys/fs/cgroup", "cgroup2"), "/a/b", "/sys/fs/cgroup/a/b", "/sys/fs/cgroup"},
        {LINE("/", "/sys/fs/cgroup", "cgroup2"), "/", "/sys/fs/cgroup", "/sys/fs/cgroup"},
        {LINE("/", "/", "ext4") LINE("/", "/c\\040g", "cgroup2"), "/a", "/c g/a", "/c g"},
        /* A part of the hierarchy is mounted, as in some containers. */
        {LINE("/a", "/cg", "cgroup2"), "/a/b", "/cg/b", "/cg"},
        {LINE("/a", "/cg", "cgroup2"), "/a", "/cg", "/cg"},
        {LINE("/a", "/cg", "cgroup2"), "/ab", NULL, NULL},
        {LINE("/x", "/cg", "cgroup2") LINE("/", "/all", "cgroup2"), "/a", "/all/a", "/all"},
        /* Outside of what this namespace sees. */
        {LINE("/", "/cg", "cgroup2"), "/../other", NULL, NULL},
        {LINE("/", "/cg", "cgroup"), "/a", NULL, NULL},
        {"", "/a", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED_MEMORY char *point = NULL;
        OWNED_MEMORY char *directory = cgroup_directory(cases[i].mounts, cases[i].path, &point);
        if (cases[i].directory == NULL) {
            assert_null(directory);
            continue;
        }
        assert_string_equal(directory, cases[i].directory);
        assert_string_equal(point, cases[i].point);
    }
}

/* A directory with one file of that text, which stands in for a cgroup. */
static int directory_with(const char *text)
{
    char path[] = "/tmp/code-sandbox-test-XXXXXX";
    assert_non_null(mkdtemp(path));
    int directory_fd = open(path, O_RDONLY | O_DIRECTORY);
    OWNED_FD int fd = openat(directory_fd, "file", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(rmdir(path), -1); /* not empty; it goes with forget() */
    return directory_fd;
}

static void forget(int *directory_fd)
{
    char link[64];
    char path[128];
    unlinkat(*directory_fd, "file", 0);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", *directory_fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    assert_true(length > 0);
    path[length] = '\0';
    rmdir(path);
    fd_close(directory_fd);
}

static void numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        uint64_t number;
    } cases[] = {
        {"0\n", 0, 0},
        {"1234567890123\n", 0, 1234567890123},
        {"max\n", 0, UINT64_MAX},
        {"\n", -EPROTO, 0},
        {"word\n", -EPROTO, 0},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(forget) int fd = directory_with(cases[i].text);
        uint64_t number = 0;
        assert_int_equal(cgroup_read_number(fd, "file", &number), cases[i].status);
        assert_int_equal(number, cases[i].number);
        assert_int_equal(cgroup_read_number(fd, "other", &number), -ENOENT);
    }
}

static void keys_are_whole_words_at_the_start_of_a_line(void **state)
{
    (void)state;
    OWNED(forget) int fd = directory_with("low 0\nmax 7\noom 2\noom_kill 3\nxoom_group_kill 9\n");
    uint64_t number = 0;
    assert_int_equal(cgroup_read_key(fd, "file", "oom_kill", &number), 0);
    assert_int_equal(number, 3);
    assert_int_equal(cgroup_read_key(fd, "file", "oom", &number), 0);
    assert_int_equal(number, 2);
    assert_int_equal(cgroup_read_key(fd, "file", "low", &number), 0);
    assert_int_equal(number, 0);
    assert_int_equal(cgroup_read_key(fd, "file", "oom_group_kill", &number), -ENOENT);
    assert_int_equal(cgroup_read_key(fd, "other", "low", &number), -ENOENT);
}

static void controllers_are_whole_words(void **state)
{
    (void)state;
    OWNED(forget) int fd = directory_with("cpuset io memory hugetlb pids\n");
    assert_int_equal(cgroup_read_controllers(fd, "file"), CONTROLLER_MEMORY | CONTROLLER_PIDS);
    assert_int_equal(cgroup_read_controllers(fd, "other"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_path_is_the_one_of_version_2),
        cmocka_unit_test(directory_follows_the_mount),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(keys_are_whole_words_at_the_start_of_a_line),
        cmocka_unit_test(controllers_are_whole_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
