#include "sandbox/base/directory.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/base/tree_copy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PLENTY (UINT64_C(1) << 20)

static char place[] = "/tmp/tree-copy-XXXXXX";
static int from, to; /* directories in it */

static int set_up(void **state)
{
    (void)state;
    memcpy(place, "/tmp/tree-copy-XXXXXX", sizeof(place));
    if (mkdtemp(place) == NULL)
        return -1;
    OWNED_FD int top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    mkdirat(top, "from", 0755);
    mkdirat(top, "to", 0755);
    from = openat(top, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    to = openat(top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(from);
    close(to);
    return tree_remove(AT_FDCWD, place);
}

static void make_file(int directory_fd, const char *name, const char *text, mode_t mode)
{
    OWNED_FD int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(io_write(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static int copy_tree(struct tree_copy *copy)
{
    OWNED(directory_release) DIR *directory = directory_open(from, ".");
    return tree_copy_entries(copy, directory, to);
}

static void files_directories_and_links_are_copied(void **state)
{
    (void)state;
    struct stat about;
    char bytes[4], target[8] = {0};
    mkdirat(from, "d", 0700);
    make_file(from, "d/f", "text", 0777);
    assert_int_equal(symlinkat("/etc", from, "link"), 0);
    mkfifoat(from, "pipe", 0600);
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1000}};
    utimensat(from, "d/f", times, 0);
    struct tree_copy copy = {.mode_mask = 0755, .owner = (uid_t)-1, .bytes_left = 4};
    assert_int_equal(copy_tree(&copy), 0);
    assert_int_equal(fstatat(to, "d/f", &about, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0755);
    assert_int_equal(about.st_mtim.tv_sec, 1000);
    assert_int_equal(fstatat(to, "d", &about, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(about.st_mode, S_IFDIR | 0700);
    assert_int_equal(readlinkat(to, "link", target, sizeof(target)), 4);
    assert_string_equal(target, "/etc");
    assert_int_equal(fstatat(to, "pipe", &about, AT_SYMLINK_NOFOLLOW), -1);
    OWNED_FD int fd = openat(to, "d/f", O_RDONLY | O_CLOEXEC);
    assert_int_equal(io_read_at(fd, bytes, sizeof(bytes), 0), 0);
    assert_memory_equal(bytes, "text", 4);
    assert_int_equal(io_read_at(fd, bytes, sizeof(bytes), 1), -EIO);
}

static void more_bytes_than_are_left_are_refused(void **state)
{
    (void)state;
    make_file(from, "a", "text", 0600);
    assert_int_equal(linkat(from, "a", from, "b", 0), 0); /* a file of its own in the copy */
    struct tree_copy copy = {.mode_mask = 0755, .owner = (uid_t)-1, .bytes_left = 7};
    assert_int_equal(copy_tree(&copy), -EFBIG);
}

static void holes_stay_holes(void **state)
{
    (void)state;
    struct stat about;
    char bytes[4];
    OWNED_FD int sparse = openat(from, "a", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(io_write_at(sparse, "text", 4, UINT64_C(1) << 30), 0);
    assert_int_equal(ftruncate(sparse, (off_t)1 << 31), 0);
    struct tree_copy copy = {.mode_mask = 0755, .owner = (uid_t)-1, .bytes_left = PLENTY};
    assert_int_equal(copy_tree(&copy), 0);
    OWNED_FD int fd = openat(to, "a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_size, (off_t)1 << 31);
    assert_in_range(about.st_blocks, 0, PLENTY / 512);
    assert_int_equal(io_read_at(fd, bytes, sizeof(bytes), UINT64_C(1) << 30), 0);
    assert_memory_equal(bytes, "text", 4);
}

static void what_is_there_is_not_replaced_and_no_link_is_followed(void **state)
{
    (void)state;
    struct stat about;
    make_file(from, "a", "text", 0600);
    assert_int_equal(symlinkat("elsewhere", to, "a"), 0);
    struct tree_copy copy = {.mode_mask = 0755, .owner = (uid_t)-1, .bytes_left = PLENTY};
    assert_int_equal(copy_tree(&copy), -EEXIST);
    assert_int_equal(fstatat(to, "elsewhere", &about, AT_SYMLINK_NOFOLLOW), -1);
}

static void directories_without_end_are_refused(void **state)
{
    (void)state;
    OWNED_FD int at = dup(from);
    for (int depth = 0; depth <= TREE_DEPTH_MAX; depth++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd_close(&at);
        at = next;
    }
    struct tree_copy copy = {.mode_mask = 0755, .owner = (uid_t)-1, .bytes_left = PLENTY};
    assert_int_equal(copy_tree(&copy), -EFBIG);
}

static int refuse(void)
{
    return -EINTR;
}

static void a_copy_can_be_ended(void **state)
{
    (void)state;
    make_file(from, "a", "text", 0600);
    struct tree_copy copy = {
        .mode_mask = 0755, .owner = (uid_t)-1, .bytes_left = PLENTY, .may_go_on = refuse};
    assert_int_equal(copy_tree(&copy), -EINTR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_directories_and_links_are_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_bytes_than_are_left_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holes_stay_holes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_is_not_replaced_and_no_link_is_followed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(directories_without_end_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_can_be_ended, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
