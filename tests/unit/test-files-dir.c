#include "interpreter/files/files_dir.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

/* The directory, and one beside it that nothing may reach. */
struct place {
    char root[32], path[64], outside[64];
    int fd;
};

static int place_make(void **state)
{
    static struct place place;
    place = (struct place){.root = "/tmp/test-files-dir-XXXXXX"};
    assert_non_null(mkdtemp(place.root));
    snprintf(place.path, sizeof(place.path), "%s/dir", place.root);
    snprintf(place.outside, sizeof(place.outside), "%s/outside", place.root);
    assert_int_equal(mkdir(place.path, 0755) | mkdir(place.outside, 0755), 0);
    place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &place;
    return place.fd < 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int place_remove(void **state)
{
    struct place *place = *state;
    fd_close(&place->fd);
    return nftw(place->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int file_of(const char *bytes)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    return fd;
}

/* Saves one file. Its error; its path must then be that one below the directory, or NULL. */
static int save_one(const struct files_dir *directory, const struct place *place, const char *name,
                    const char *bytes, const char *path)
{
    OWNED_FD int fd = file_of(bytes);
    struct file_to_save file = {.name = name, .fd = fd, .size = strlen(bytes)};
    files_dir_save(directory, 7, &file, 1);
    OWNED_MEMORY char *owned = file.path;
    if (path == NULL) {
        assert_null(file.path);
        return file.error;
    }
    char expected[4096];
    snprintf(expected, sizeof(expected), "%s/%s", place->path, path);
    assert_string_equal(file.path, expected);
    return file.error;
}

static void assert_content(const struct place *place, const char *path, const char *expected)
{
    char bytes[64] = "";
    OWNED_FD int fd = openat(place->fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof(bytes) - 1), strlen(expected));
    assert_string_equal(bytes, expected);
}

static mode_t mode_of(const struct place *place, const char *path)
{
    struct stat about = {0};
    assert_int_equal(fstatat(place->fd, path, &about, AT_SYMLINK_NOFOLLOW), 0);
    return about.st_mode;
}

static void each_call_gets_a_directory(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, false, place->fd};
    mode_t mask = umask(0);
    assert_int_equal(save_one(&directory, place, "d/e/a.txt", "text", "7/d/e/a.txt"), 0);
    umask(mask);
    assert_content(place, "7/d/e/a.txt", "text");
    assert_int_equal(mode_of(place, "7"), S_IFDIR | 0700);
    assert_int_equal(mode_of(place, "7/d/e"), S_IFDIR | 0700);
    assert_int_equal(mode_of(place, "7/d/e/a.txt"), S_IFREG | 0600);
    assert_int_equal(save_one(&directory, place, "a.txt", "other", "7-2/a.txt"), 0);
    assert_int_equal(save_one(&directory, place, "a.txt", "third", "7-3/a.txt"), 0);
    assert_content(place, "7/d/e/a.txt", "text");
}

static void something_else_of_that_name_stays(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, false, place->fd};
    assert_int_equal(symlinkat("../outside", place->fd, "7"), 0);
    assert_int_equal(mknodat(place->fd, "7-2", S_IFREG | 0600, 0), 0);
    assert_int_equal(save_one(&directory, place, "a", "x", "7-3/a"), 0);
    assert_int_equal(rmdir(place->outside), 0);
    assert_int_equal(mkdir(place->outside, 0700), 0);
}

static void a_name_by_chance_comes_after_many(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, false, place->fd};
    OWNED_FD int fd = file_of("x");
    for (int i = 0; i < FILES_DIR_ATTEMPTS_MAX + 2; i++) {
        struct file_to_save file = {.name = "a", .fd = fd, .size = 1};
        assert_int_equal(files_dir_save(&directory, 7, &file, 1), 0);
        OWNED_MEMORY char *path = file.path;
        assert_non_null(path);
        if (i >= FILES_DIR_ATTEMPTS_MAX)
            assert_int_equal(strlen(path), strlen(place->path) + strlen("/7-0123456789abcdef/a"));
    }
}

static void a_call_without_files_makes_nothing(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, false, place->fd};
    assert_int_equal(files_dir_save(&directory, 7, NULL, 0), 0);
    assert_int_equal(faccessat(place->fd, "7", F_OK, 0), -1);
}

static void names_are_made_plain_in_each_part(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, true, place->fd};
    assert_int_equal(save_one(&directory, place, ".git/hooks/-x\n", "x", "_git/hooks/_x_"), 0);
    assert_int_equal(save_one(&directory, place, "\xff/.../~", "x", "_/_../_"), 0);
    assert_content(place, "_git/hooks/_x_", "x");
}

/* By a link, which leads elsewhere, or by another directory: what was open at the start is meant. */
static void what_takes_the_place_of_the_directory_gets_nothing(void **state)
{
    const struct place *place = *state;
    char other[80];
    snprintf(other, sizeof(other), "%s-moved", place->path);
    for (int flat = 0; flat <= 1; flat++) {
        const struct files_dir directory = {place->path, flat, place->fd};
        assert_int_equal(rename(place->path, other), 0);
        assert_int_equal(save_one(&directory, place, "name", "bytes", NULL), -ENOENT);
        assert_int_equal(symlink(place->outside, place->path), 0);
        assert_int_equal(save_one(&directory, place, "name", "bytes", NULL), -ESTALE);
        assert_int_equal(unlink(place->path), 0);
        assert_int_equal(mkdir(place->path, 0700), 0);
        assert_int_equal(save_one(&directory, place, "name", "bytes", NULL), -ESTALE);
        assert_int_equal(rmdir(place->path), 0); /* nothing is in it */
        assert_int_equal(rmdir(place->outside) | mkdir(place->outside, 0700), 0);
        assert_int_equal(rename(other, place->path), 0);
        assert_int_equal(save_one(&directory, place, "name", "bytes", flat ? "name" : "7/name"), 0);
    }
}

static void nothing_is_replaced(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, true, place->fd};
    assert_int_equal(save_one(&directory, place, "a", "first", "a"), 0);
    assert_int_equal(save_one(&directory, place, "a", "second", NULL), -EEXIST);
    assert_content(place, "a", "first");
    assert_int_equal(save_one(&directory, place, "\x01", "first", "_"), 0);
    assert_int_equal(save_one(&directory, place, "\x02", "second", NULL), -EEXIST);
    assert_content(place, "_", "first");
    assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
    assert_int_equal(save_one(&directory, place, "d", "x", NULL), -EEXIST);
    assert_int_equal(save_one(&directory, place, "a/b", "x", NULL), -ENOTDIR);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    assert_int_equal(save_one(&directory, place, "fifo", "x", NULL), -EEXIST);
}

static void no_link_is_followed(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, true, place->fd};
    assert_int_equal(symlinkat("../outside", place->fd, "link"), 0);
    assert_int_equal(symlinkat(".", place->fd, "self"), 0);
    assert_int_equal(symlinkat("../outside/new", place->fd, "file"), 0);
    assert_int_equal(save_one(&directory, place, "link/a", "x", NULL), -ENOTDIR);
    assert_int_equal(save_one(&directory, place, "self/a", "x", NULL), -ENOTDIR);
    assert_int_equal(save_one(&directory, place, "file", "x", NULL), -EEXIST);
    assert_int_equal(rmdir(place->outside), 0);
    assert_int_equal(mkdir(place->outside, 0700), 0);
}

static void a_directory_that_has_gone_is_an_error_of_all(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {"/nowhere/at/all", false, -1};
    OWNED_FD int fd = file_of("x");
    struct file_to_save files[2] = {{.name = "a", .fd = fd, .size = 1},
                                    {.name = "b", .fd = fd, .size = 1}};
    assert_int_equal(files_dir_save(&directory, 7, files, 2), -ENOENT);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(files[i].error, -ENOENT);
        assert_null(files[i].path);
    }
    assert_string_equal(files_dir_reason(-ENOENT), "No such file or directory");
    assert_non_null(place);
}

static void too_much_in_one_call_is_left_out(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, true, place->fd};
    OWNED_FD int large = memfd_create("large", MFD_CLOEXEC);
    assert_int_equal(ftruncate(large, (off_t)FILES_DIR_BYTES_MAX), 0);
    OWNED_FD int small = file_of("x");
    struct file_to_save files[] = {{.name = "a", .fd = small, .size = 1},
                                   {.name = "b", .fd = large, .size = FILES_DIR_BYTES_MAX},
                                   {.name = "c", .fd = small, .size = 1}};
    assert_int_equal(files_dir_save(&directory, 7, files, 3), 0);
    assert_int_equal(files[1].error, -E2BIG);
    assert_null(files[1].path);
    for (size_t i = 0; i < 3; i += 2) {
        assert_int_equal(files[i].error, 0);
        memory_release(&files[i].path);
    }
    assert_int_equal(faccessat(place->fd, "b", F_OK, 0), -1);
}

static void what_cannot_be_written_whole_is_removed(void **state)
{
    const struct place *place = *state;
    const struct files_dir directory = {place->path, true, place->fd};
    OWNED_FD int fd = file_of("cut");
    struct file_to_save file = {.name = "a", .fd = fd, .size = 9};
    assert_int_equal(files_dir_save(&directory, 7, &file, 1), 0);
    assert_int_equal(file.error, -EIO);
    assert_null(file.path);
    assert_int_equal(faccessat(place->fd, "a", F_OK, 0), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_call_gets_a_directory),
        TEST(something_else_of_that_name_stays),
        TEST(a_name_by_chance_comes_after_many),
        TEST(a_call_without_files_makes_nothing),
        TEST(names_are_made_plain_in_each_part),
        TEST(what_takes_the_place_of_the_directory_gets_nothing),
        TEST(nothing_is_replaced),
        TEST(no_link_is_followed),
        TEST(a_directory_that_has_gone_is_an_error_of_all),
        TEST(too_much_in_one_call_is_left_out),
        TEST(what_cannot_be_written_whole_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
