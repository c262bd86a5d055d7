#include "sandbox/roots/chroot_tree.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "skip.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/test-chroot-tree-XXXXXX";

static int setup(void **state)
{
    strcpy(top + sizeof(top) - 7, "XXXXXX");
    *state = mkdtemp(top);
    return *state == NULL || chdir(top) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    return chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, *state);
}

static void make_directory(const char *path, mode_t mode)
{
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void make_file(const char *path, const char *text)
{
    OWNED_FD int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int fill(const struct jail_plan *plan)
{
    make_directory("root", 0700);
    OWNED_FD int fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return chroot_tree_fill(fd, plan, NULL);
}

static struct stat status_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status;
}

static void assert_link(const char *path, const char *expected)
{
    char target[256];
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    assert_true(length > 0);
    target[length] = '\0';
    assert_string_equal(target, expected);
}

/* An image of one directory, which is not changed by it. */
static const struct jail_plan *make_image(enum jail_base base)
{
    static struct jail_plan plan;
    make_directory("image", 0755);
    make_directory("image/usr", 0755);
    make_directory("image/usr/lib", 0755);
    make_directory("image/open", 01777);
    make_file("image/usr/lib/file", "text");
    assert_int_equal(symlink("/usr/lib/file", "image/usr/lib/absolute"), 0);
    assert_int_equal(symlink("../lib/file", "image/usr/relative"), 0);
    assert_int_equal(symlink("//etc/x", "image/top"), 0);
    assert_int_equal(mkfifo("image/pipe", 0600), 0);
    plan = (struct jail_plan){.base = base, .root_path = "image"};
    return &plan;
}

static void files_are_links_to_those_of_the_image(void **state)
{
    (void)state;
    assert_int_equal(fill(make_image(BASE_CHROOT)), 0);
    assert_int_equal(status_of("root/usr/lib/file").st_ino, status_of("image/usr/lib/file").st_ino);
    assert_int_equal(status_of("root/usr/lib/file").st_nlink, 2);
    assert_link("root/usr/lib/absolute", "/usr/lib/file");
    assert_link("root/usr/relative", "../lib/file");
}

static void nobody_but_the_owner_writes_to_directories(void **state)
{
    (void)state;
    assert_int_equal(fill(make_image(BASE_CHROOT)), 0);
    assert_int_equal(status_of("root/open").st_mode & 07777, 0755);
    assert_int_equal(status_of("image/open").st_mode & 07777, 01777);
}

static void devices_and_pipes_are_left_out(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(fill(make_image(BASE_CHROOT)), 0);
    assert_true(lstat("root/pipe", &status) < 0);
}

static void absolute_links_stay_in_a_tree_that_is_no_root(void **state)
{
    (void)state;
    assert_int_equal(fill(make_image(BASE_HOST)), 0);
    assert_link("root/usr/lib/absolute", "./../../usr/lib/file");
    assert_link("root/usr/relative", "../lib/file");
    assert_link("root/top", "./etc/x");
    OWNED_FD int fd = open("root/usr/lib/absolute", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
}

static void layers_replace_and_hide_what_is_below(void **state)
{
    (void)state;
    static const struct jail_plan plan = {.base = BASE_CHROOT,
                                          .root_path = "layers",
                                          .root_layers = "userxattr,lowerdir=upper:lower"};
    struct stat status;
    make_directory("layers", 0755);
    make_directory("layers/lower", 0755);
    make_directory("layers/upper", 0755);
    make_file("layers/lower/hidden", "lower");
    make_file("layers/lower/replaced", "lower");
    make_file("layers/lower/kept", "lower");
    make_directory("layers/lower/becomes-file", 0755);
    make_file("layers/lower/becomes-file/x", "lower");
    make_directory("layers/lower/opaque", 0755);
    make_file("layers/lower/opaque/old", "lower");
    make_directory("layers/upper/opaque", 0700);
    make_file("layers/upper/opaque/new", "upper");
    make_file("layers/upper/replaced", "upper");
    make_file("layers/upper/becomes-file", "upper");
    if (mknod("layers/upper/hidden", S_IFCHR, makedev(0, 0)) < 0 ||
        setxattr("layers/upper/opaque", "user.overlay.opaque", "y", 1, 0) < 0) {
        skip_because("this file system has no attributes of users, or no whiteouts");
    }
    assert_int_equal(fill(&plan), 0);
    assert_true(lstat("root/hidden", &status) < 0);
    assert_true(lstat("root/opaque/old", &status) < 0);
    assert_int_equal(status_of("root/opaque/new").st_ino,
                     status_of("layers/upper/opaque/new").st_ino);
    assert_int_equal(status_of("root/replaced").st_ino, status_of("layers/upper/replaced").st_ino);
    assert_int_equal(status_of("root/kept").st_ino, status_of("layers/lower/kept").st_ino);
    assert_true(S_ISREG(status_of("root/becomes-file").st_mode));
}

/* Links of an image, which is downloaded, lead to no directory of the host. */
static void writable_directories_replace_links(void **state)
{
    (void)state;
    static const struct plan_scratch scratch[] = {{"work", "/work", 0755, true},
                                                  {"home", "/home/sandbox", 0755, true}};
    struct jail_plan plan = {
        .base = BASE_HOST, .root_path = "image", .scratch = scratch, .scratch_count = 1};
    make_directory("outside", 0755);
    make_file("outside/file", "text");
    make_directory("root", 0755);
    assert_int_equal(symlink("../outside", "root/work"), 0);
    assert_int_equal(symlink("../outside", "root/home"), 0);
    OWNED_FD int fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chroot_tree_renew(fd, &plan, NULL), 0);
    assert_true(S_ISDIR(status_of("root/work").st_mode));
    OWNED_FD int work = chroot_tree_open(fd, "/work");
    assert_true(work >= 0);
    plan.scratch_count = 2;
    assert_true(chroot_tree_renew(fd, &plan, NULL) < 0);
    assert_int_equal(chroot_tree_open(fd, "/home/sandbox"), -ELOOP);
    assert_int_equal(status_of("outside/file").st_size, 4);
}

static void what_was_written_before_is_gone(void **state)
{
    (void)state;
    static const struct plan_scratch scratch[] = {{"work", "/work", 0755, true}};
    const struct jail_plan plan = {
        .base = BASE_HOST, .root_path = "image", .scratch = scratch, .scratch_count = 1};
    struct stat status;
    make_directory("root", 0755);
    OWNED_FD int fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chroot_tree_renew(fd, &plan, NULL), 0);
    make_file("root/work/file", "text");
    make_directory("root/work/closed", 0);
    assert_int_equal(chroot_tree_renew(fd, &plan, NULL), 0);
    assert_true(lstat("root/work/file", &status) < 0 && lstat("root/work/closed", &status) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_links_to_those_of_the_image, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_but_the_owner_writes_to_directories, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(devices_and_pipes_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(absolute_links_stay_in_a_tree_that_is_no_root, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(layers_replace_and_hide_what_is_below, setup, teardown),
        cmocka_unit_test_setup_teardown(writable_directories_replace_links, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_written_before_is_gone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
