#include "sandbox/jail/folders/file_clock.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 5000

static bool is_before(struct timespec one, struct timespec other)
{
    return one.tv_sec != other.tv_sec ? one.tv_sec < other.tv_sec : one.tv_nsec < other.tv_nsec;
}

/* Of a file that has been looked at, as editors and git look at theirs. */
static struct timespec change(int fd)
{
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
    assert_int_equal(fstat(fd, &about), 0);
    return about.st_ctim;
}

static void changes_are_before_or_after_it(void **state)
{
    (void)state;
    char path[] = "/tmp/clock-XXXXXX";
    OWNED_FD int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec earlier = change(fd);
        struct file_clock clock;
        assert_int_equal(file_clock_read(&clock, NULL), 0);
        struct timespec later = change(fd);
        assert_true(is_before(earlier, clock.after));
        assert_false(is_before(later, clock.since));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes_are_before_or_after_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
