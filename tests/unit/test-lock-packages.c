#include "images/store/lock.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ONES "1111111111111111111111111111111111111111111111111111111111111111"
#define TWOS "2222222222222222222222222222222222222222222222222222222222222222"
#define TENS "1111111111"
#define SHA512 "sha512-" TENS TENS TENS TENS TENS TENS TENS TENS "111111=="

static void requests_release(char ***requests)
{
    lock_requests_free(*requests);
}

static const char uris[] = "'http://x/a_1%3a2-3_all.deb' a_1%3a2-3_all.deb 10 SHA256:" ONES "\n"
                           "'http://u:p@x/b_1.deb' b_1.0+b2_amd64.deb 20 SHA256:" TWOS "\n";

static void the_answer_of_apt_is_noted(void **state)
{
    (void)state;
    OWNED(lock_release) struct lock lock = {0};
    assert_int_equal(lock_add_uris(&lock, uris, NULL), 0);
    assert_int_equal(lock_add_uris(&lock, "'http://x' y 1 MD5Sum:1\nnonsense\n", NULL), 0);
    assert_int_equal(lock.count, 2);
    assert_string_equal(lock.entries[0].name, "a");
    assert_string_equal(lock.entries[0].version, "1:2-3");
    assert_string_equal(lock.entries[0].url, "http://x/a_1%3a2-3_all.deb");
    assert_string_equal(lock.entries[0].descriptor.digest.text, "sha256:" ONES);
    assert_int_equal(lock.entries[1].descriptor.size, 20);
    assert_string_equal(lock.entries[1].url, "http://x/b_1.deb");
    OWNED(requests_release) char **requests = lock_requests(&lock, LOCK_DEB);
    assert_string_equal(requests[0], "a=1:2-3");
    assert_string_equal(requests[1], "b=1.0+b2");
    assert_null(requests[2]);
}

static void what_pip_installed_is_noted(void **state)
{
    (void)state;
    OWNED(lock_release) struct lock lock = {0};
    const char *text = "six==1.17.0 --hash=sha256:" ONES "\nlocal @ file:///x\nold==1\n";
    assert_int_equal(lock_add_requirements(&lock, text, NULL), 0);
    OWNED(requests_release) char **requests = lock_requests(&lock, LOCK_PIP);
    OWNED(requests_release) char **none = lock_requests(&lock, LOCK_DEB);
    assert_string_equal(requests[0], "six==1.17.0 --hash=sha256:" ONES);
    assert_null(requests[1]);
    assert_null(none[0]);
}

static void a_lock_is_read_as_it_was_written(void **state)
{
    (void)state;
    char path[] = "/tmp/test-lock-XXXXXX";
    assert_non_null(mkdtemp(path));
    OWNED(lock_release) struct lock lock = {0};
    OWNED(lock_release) struct lock again = {0};
    assert_int_equal(lock_add_uris(&lock, uris, NULL), 0);
    assert_int_equal(lock_add_requirements(&lock, "c==1 --hash=sha256:" TWOS, NULL), 0);
    lock.recipe = strdup("node");
    lock.npm = strdup("{\"node_modules/x\":{\"version\":\"1.0.0\",\"integrity\":\"" SHA512 "\"}}");
    OWNED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        fail();
        return;
    }
    assert_int_equal(lock_write(fd, &lock, "here", NULL), 0);
    char text[4096];
    OWNED_FD int file_fd = openat(fd, LOCK_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file_fd, text, sizeof(text));
    assert_true(length > 0);
    assert_int_equal(lock_read_packages(text, (size_t)length, &again, NULL), 0);
    assert_string_equal(again.recipe, "node");
    assert_string_equal(again.npm, lock.npm);
    assert_int_equal(again.count, 3);
    assert_int_equal(lock_compare(&lock, &again, NULL), 0);
    assert_int_equal(lock_compare(&again, &lock, NULL), 0);
    assert_int_equal(unlinkat(fd, LOCK_FILE, 0), 0);
    assert_int_equal(rmdir(path), 0);
}

static void what_is_not_in_the_lock_is_named(void **state)
{
    (void)state;
    OWNED(lock_release) struct lock both = {0};
    OWNED(lock_release) struct lock one = {0};
    OWNED(lock_release) struct lock other = {0};
    assert_int_equal(lock_add_uris(&both, uris, NULL), 0);
    assert_int_equal(lock_add_uris(&one, strchr(uris, '\n') + 1, NULL), 0);
    assert_int_equal(lock_add_uris(&other, "'u' b_1.0+b2_amd64.deb 20 SHA256:" ONES "\n", NULL), 0);
    struct fault more = {0}, less = {0}, changed = {0};
    assert_int_equal(lock_compare(&one, &both, &more), -ESTALE);
    assert_non_null(strstr(more.text, "package a is wanted now"));
    assert_int_equal(lock_compare(&both, &one, &less), -ESTALE);
    assert_non_null(strstr(less.text, "package a of the lock does not come"));
    assert_int_equal(lock_compare(&one, &other, &changed), -ESTALE);
    assert_non_null(strstr(changed.text, "package b 1.0+b2 has another digest"));
}

#define NPM(resolved)                                                                              \
    "{\"recipe\":\"node\",\"fetched\":[{\"kind\":\"deb\",\"name\":\"a\",\"version\":\"1\","        \
    "\"digest\":\"sha256:" ONES "\"}],\"npm\":{\"node_modules/x\":{\"version\":\"1.0.0\","         \
    "\"resolved\":\"" resolved "\",\"integrity\":\"" SHA512 "\"}}}"
#define DEB(name, version)                                                                         \
    "{\"recipe\":\"bash\",\"fetched\":[{\"kind\":\"deb\",\"name\":\"" name                         \
    "\",\"version\":\"" version "\",\"digest\":\"sha256:" ONES "\"}]}"

static void other_locks_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int expected;
    } cases[] = {
        {DEB("a", "1"), 0},
        {DEB("-a", "1"), -EINVAL},
        {DEB("a b", "1"), -EINVAL},
        {DEB("a", "1\\n"), -EINVAL},
        {DEB("", "1"), -EINVAL},
        {DEB("a", "1/../2"), -EINVAL},
        {"{\"source\":\"docker.io/library/x:1\",\"fetched\":[]}", 1},
        {"{\"recipe\":\"cobol\",\"fetched\":[{}]}", -EINVAL},
        {"{\"recipe\":\"bash\",\"fetched\":[]}", -EINVAL},
        {"{\"recipe\":\"bash\",\"fetched\":[{\"kind\":\"layer\"}]}", -EINVAL},
        {NPM("https://x/x.tgz"), 0},
        {NPM("git+file:///r"), -EINVAL},
        {"{", -EINVAL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(lock_release) struct lock lock = {0};
        struct fault fault = {0};
        const char *text = cases[i].text;
        assert_int_equal(lock_read_packages(text, strlen(text), &lock, &fault), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_of_apt_is_noted),
        cmocka_unit_test(what_pip_installed_is_noted),
        cmocka_unit_test(a_lock_is_read_as_it_was_written),
        cmocka_unit_test(what_is_not_in_the_lock_is_named),
        cmocka_unit_test(other_locks_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
