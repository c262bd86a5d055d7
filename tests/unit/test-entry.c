/* Entries that change between the look at them and their opening, as others on the host can have it. */
#include "interpreter/changes/entry.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int directory_fd;
static char directory[] = "/tmp/code-sandbox-entry-XXXXXX";

static void make_file(const char *name, const char *text)
{
    OWNED_FD int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Looks at a file, lets something take its place, and reads. */
static int read_replaced(void (*replace)(void))
{
    OWNED(version_release) struct file_version version = VERSION_ABSENT;
    unlinkat(directory_fd, "x", 0);
    unlinkat(directory_fd, "x", AT_REMOVEDIR);
    make_file("x", "text");
    const struct entry entry = entry_look(directory_fd, "x");
    assert_int_equal(entry.kind, ENTRY_FILE);
    assert_int_equal(entry_read(directory_fd, "x", &entry, &version), 0);
    assert_int_equal(version.size, 4);
    assert_int_equal(version.mode, MODE_FILE);
    version_release(&version);
    if (replace != NULL) {
        assert_int_equal(unlinkat(directory_fd, "x", 0), 0);
        replace();
    }
    return entry_read(directory_fd, "x", &entry, &version);
}

static void put_link(void)
{
    assert_int_equal(symlinkat("/etc/passwd", directory_fd, "x"), 0);
}

static void put_fifo(void)
{
    assert_int_equal(mkfifoat(directory_fd, "x", 0600), 0);
}

static void put_directory(void)
{
    assert_int_equal(mkdirat(directory_fd, "x", 0700), 0);
}

static void put_other_file(void)
{
    make_file("x", "more");
}

static void put_nothing(void)
{
}

static void reads_only_what_was_found(void **state)
{
    (void)state;
    static void (*const replacements[])(void) = {put_link, put_fifo, put_directory, put_other_file,
                                                 put_nothing};
    assert_int_equal(read_replaced(NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(replacements); i++) {
        if (read_replaced(replacements[i]) != -EAGAIN)
            fail_msg("replacement %zu", i);
    }
}

static void does_not_enter_links_or_other_file_systems(void **state)
{
    (void)state;
    OWNED_FD int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(entry_open_directory(root_fd, "proc"), -EXDEV);
    assert_int_equal(symlinkat("/etc", directory_fd, "etc"), 0);
    int r = entry_open_directory(directory_fd, "etc");
    assert_true(r == -ELOOP || r == -ENOTDIR);
    assert_int_equal(entry_open_directory(directory_fd, ".."), -EXDEV);
}

static void refuses_large_files_without_reading(void **state)
{
    (void)state;
    OWNED(version_release) struct file_version version = VERSION_ABSENT;
    make_file("large", "");
    OWNED_FD int fd = openat(directory_fd, "large", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, CHANGES_FILE_MAX + 1), 0);
    const struct entry entry = entry_look(directory_fd, "large");
    assert_int_equal(entry_read(directory_fd, "large", &entry, &version), -EFBIG);
    assert_int_equal(ftruncate(fd, CHANGES_FILE_MAX), 0);
    const struct entry smaller = entry_look(directory_fd, "large");
    assert_int_equal(entry_read(directory_fd, "large", &smaller, &version), 0);
    assert_int_equal(version.size, CHANGES_FILE_MAX);
}

static void reads_targets_of_links(void **state)
{
    (void)state;
    OWNED(version_release) struct file_version version = VERSION_ABSENT;
    assert_int_equal(symlinkat("../a\nb", directory_fd, "link"), 0);
    const struct entry entry = entry_look(directory_fd, "link");
    assert_int_equal(entry_read(directory_fd, "link", &entry, &version), 0);
    assert_int_equal(version.mode, MODE_LINK);
    assert_int_equal(version.size, 6);
    assert_memory_equal(version.bytes, "../a\nb", 6);
}

/* Also for a server of root, which can read everything. */
static void judges_by_the_bits_of_the_owner(void **state)
{
    (void)state;
    static const struct {
        enum entry_kind kind;
        mode_t mode;
        bool is_readable;
    } cases[] = {
        {ENTRY_FILE, 0400, true},       {ENTRY_FILE, 0377, false},
        {ENTRY_DIRECTORY, 0500, true},  {ENTRY_DIRECTORY, 0477, false},
        {ENTRY_DIRECTORY, 0300, false}, {ENTRY_LINK, 0000, true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct entry entry = {cases[i].kind, {.st_mode = cases[i].mode}};
        assert_int_equal(entry_is_readable(&entry), cases[i].is_readable);
    }
}

static int make_directory(void **state)
{
    (void)state;
    directory_fd =
        mkdtemp(directory) != NULL ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return directory_fd < 0 ? -1 : 0;
}

static int remove_directory(void **state)
{
    (void)state;
    static const char *const names[] = {"x", "etc", "large", "link"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        unlinkat(directory_fd, names[i], 0);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_only_what_was_found),
        cmocka_unit_test(does_not_enter_links_or_other_file_systems),
        cmocka_unit_test(refuses_large_files_without_reading),
        cmocka_unit_test(reads_targets_of_links),
        cmocka_unit_test(judges_by_the_bits_of_the_owner),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
