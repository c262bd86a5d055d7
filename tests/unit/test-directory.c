#include "sandbox/base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char place[] = "/tmp/test-directory-XXXXXX";
static int place_fd = -1;

/* "12", a directory with "a" in it; "link" to it; and "file". */
static int make_place(void **state)
{
    (void)state;
    if (mkdtemp(place) == NULL)
        return -1;
    place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(place_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(fd);
    return fd < 0 || mkdirat(place_fd, "12", 0700) < 0 || mkdirat(place_fd, "12/a", 0700) < 0 ||
                   symlinkat("12", place_fd, "link") < 0
               ? -1
               : 0;
}

static int remove_place(void **state)
{
    (void)state;
    static const char *const directories[] = {"12/a", "12"};
    unlinkat(place_fd, "file", 0);
    unlinkat(place_fd, "link", 0);
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        unlinkat(place_fd, directories[i], AT_REMOVEDIR);
    close(place_fd);
    return rmdir(place);
}

static void assert_has_a(DIR *directory)
{
    assert_non_null(directory);
    const struct dirent *entry = directory_next(directory);
    assert_non_null(entry);
    assert_string_equal(entry->d_name, "a");
    assert_null(directory_next(directory));
    directory_release(&directory);
    assert_null(directory);
}

static void a_link_is_followed_or_not(void **state)
{
    (void)state;
    assert_has_a(directory_open(place_fd, "link"));
    assert_has_a(directory_open_itself(place_fd, "12"));
    assert_has_a(directory_open_itself(place_fd, "12/../12"));
    errno = 0;
    assert_null(directory_open_itself(place_fd, "link"));
    assert_int_equal(errno, ENOTDIR);
}

static void no_directory_is_told_by_errno(void **state)
{
    (void)state;
    errno = 0;
    assert_null(directory_open(place_fd, "file"));
    assert_int_equal(errno, ENOTDIR);
    errno = 0;
    assert_null(directory_open_itself(place_fd, "nothing"));
    assert_int_equal(errno, ENOENT);
    assert_null(directory_next(NULL));
}

static void numbers_are_found_among_names(void **state)
{
    (void)state;
    DIR *directory = directory_open(place_fd, ".");
    assert_non_null(directory);
    assert_string_equal(directory_next_number(directory), "12");
    assert_null(directory_next_number(directory));
    directory_release(&directory);
}

static void a_move_replaces_nothing_and_an_exchange_both(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(directory_move(place_fd, "file", place_fd, "link"), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(directory_move(place_fd, "file", place_fd, "moved"), 0);
    assert_int_equal(fstatat(place_fd, "file", &status, 0), -1);
    assert_int_equal(directory_exchange(place_fd, "moved", "absent"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(directory_exchange(place_fd, "moved", "link"), 0);
    assert_int_equal(fstatat(place_fd, "moved", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(directory_exchange(place_fd, "moved", "link"), 0);
    assert_int_equal(directory_move(place_fd, "moved", place_fd, "file"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_followed_or_not),
        cmocka_unit_test(no_directory_is_told_by_errno),
        cmocka_unit_test(numbers_are_found_among_names),
        cmocka_unit_test(a_move_replaces_nothing_and_an_exchange_both),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
