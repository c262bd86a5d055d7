#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/session_file.h"
#include "tests/unit/needs-jails.h"
#include "tests/unit/session-asking.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void what_is_written_is_read(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    put("a/b/c", "some text");
    expect_text("a/b/c", "some text");
    expect_text("/work/a/./b/../b//c", "some text");
    put("a/b/c", "less");
    expect_text("a/b/c", "less");
    put("empty", "");
    expect_text("empty", "");
    assert_int_equal(ask_of(FILE_STAT, "a/b/c")->entry.mode, S_IFREG | 0644);
    expect(ask_of(FILE_LIST, "a/b"), "");
    assert_string_equal(ask_of(FILE_LIST, "a/b")->bytes, "c,");
}

static void pieces_are_read_from_anywhere(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        size_t length;
        const char *bytes;
        bool is_end;
    } cases[] = {{0, 4, "0123", false},       {4, 6, "456789", true}, {8, 100, "89", true},
                 {10, 5, "", true},           {1000, 5, "", true},    {3, 0, "", false},
                 {INT64_MAX / 2, 1, "", true}};
    open_session(SESSION_LIVE);
    put("digits", "0123456789");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct seen *seen = ask(&(struct file_spec){.operation = FILE_READ,
                                                          .path = "digits",
                                                          .offset = cases[i].offset,
                                                          .length = cases[i].length});
        expect(seen, "");
        assert_string_equal(seen->bytes, cases[i].bytes);
        assert_int_equal(seen->length, strlen(cases[i].bytes));
        assert_int_equal(seen->is_end, cases[i].is_end);
        assert_int_equal(seen->entry.size, 10);
    }
}

static void large_pieces_come_whole(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    memset(bytes, 'x', sizeof(bytes));
    bytes[0] = 'a';
    open_session(SESSION_FRESH);
    const struct file_spec spec = {
        .operation = FILE_WRITE, .path = "large", .bytes = bytes, .length = sizeof(bytes)};
    struct file_spec more = spec;
    more.appends = true;
    expect(ask(&spec), "");
    expect(ask(&more), "");
    const struct seen *seen = ask_of(FILE_READ, "large");
    assert_int_equal(seen->length, sizeof(bytes));
    assert_int_equal(seen->entry.size, 2 * sizeof(bytes));
    assert_false(seen->is_end);
}

static void bytes_are_added_to_the_end(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct file_spec spec = {
        .operation = FILE_WRITE, .path = "log/one", .bytes = "one ", .length = 4, .appends = true};
    expect(ask(&spec), "");
    expect(ask(&spec), "");
    expect_text("log/one", "one one ");
}

static void modes_are_kept_or_given(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct file_spec spec = {.operation = FILE_WRITE, .path = "f", .bytes = "", .mode = 0755};
    expect(ask(&spec), "");
    assert_int_equal(ask_of(FILE_STAT, "f")->entry.mode & 07777, 0755);
    put("f", "again");
    assert_int_equal(ask_of(FILE_STAT, "f")->entry.mode & 07777, 0755);
    spec.mode = 0666;
    expect(ask(&spec), "");
    assert_int_equal(ask_of(FILE_STAT, "f")->entry.mode & 07777, 0666);
    run("chmod", "444", "f");
    expect(ask(&(struct file_spec){.operation = FILE_WRITE, .path = "f"}), "permission");
    run("chmod", "0", "f");
    expect(ask_of(FILE_READ, "f"), "permission");
}

static void directories_are_made_listed_and_removed(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    expect(ask_of(FILE_MKDIR, "one/two"), "");
    expect(ask_of(FILE_MKDIR, "one/two/"), "");
    put("one/f", "12345");
    const struct seen *list = ask_of(FILE_LIST, "one");
    assert_string_equal(list->bytes, "f,two,");
    assert_true(S_ISDIR(list->entry.mode));
    assert_false(list->has_more);
    assert_int_equal(ask_of(FILE_STAT, "one/f")->entry.size, 5);
    assert_true(ask_of(FILE_STAT, "one/f")->entry.modified_s > 1700000000);
    expect(ask_of(FILE_LIST, "one/f"), "not_a_directory");
    expect(ask_of(FILE_MKDIR, "one/f"), "not_a_directory");
    expect(ask_of(FILE_LIST, "none"), "no_such_file");
    expect(ask_of(FILE_REMOVE, "one"), "not_empty");
    expect(ask_of(FILE_REMOVE, "one/two"), "");
    expect(ask_of(FILE_REMOVE, "one/two"), "no_such_file");
    expect(ask_of(FILE_LIST, "."), "");
    expect(ask_of(FILE_LIST, "/"), "");
}

static void trees_are_removed_and_what_links_lead_to_stays(void **state)
{
    (void)state;
    const struct file_spec all = {.operation = FILE_REMOVE, .path = "tree/", .recurses = true};
    open_session(SESSION_LIVE);
    put("kept/f", "kept");
    put("tree/one/two/f", "x");
    put("tree/one/three/f", "x");
    expect(ask_of(FILE_MKDIR, "tree/four"), "");
    run("link", "/work/kept", "tree/one/link");
    expect(ask(&all), "");
    expect(ask_of(FILE_STAT, "tree"), "no_such_file");
    expect_text("kept/f", "kept");
    run("deep", "1000", NULL);
    expect(ask(&(struct file_spec){.operation = FILE_REMOVE, .path = "d", .recurses = true}), "");
    assert_string_equal(ask_of(FILE_LIST, ".")->bytes, "f,kept,");
    expect(ask(&(struct file_spec){.operation = FILE_REMOVE, .path = ".", .recurses = true}),
           "busy");
    expect(ask(&(struct file_spec){.operation = FILE_REMOVE, .path = "/work", .recurses = true}),
           "permission");
}

static struct seen *move(const char *from, const char *to)
{
    return ask(&(struct file_spec){.operation = FILE_MOVE, .path = from, .to = to});
}

static void files_are_moved(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    put("a", "of a");
    put("d/f", "of f");
    expect(move("a", "b"), "");
    expect(move("b", "/tmp/c"), ""); /* another file system */
    expect_text("/tmp/c", "of a");
    expect(ask_of(FILE_STAT, "b"), "no_such_file");
    expect(move("d", "/tmp/d"), "not_a_file");
    expect(move("d", "d/e"), "file_failed");
    expect(move("/tmp/c", "d"), "not_a_file");
    expect(move("/tmp/c", "d/f"), "");
    expect_text("d/f", "of a");
    expect(move("none", "other"), "no_such_file");
    expect(move("d", "none/other"), "no_such_file");
    expect(move(".", "other"), "busy");
    put("full/f", "");
    expect(move("d", "full"), "not_empty");
    run("link", "nowhere", "link");
    expect(move("link", "moved"), "");
    assert_string_equal(ask_of(FILE_LIST, ".")->bytes, "d,full,moved,");
    assert_string_equal(ask_of(FILE_LIST, "/tmp")->bytes, "");
}

static void links_are_followed_inside(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    put("real/f", "real");
    run("link", "real/f", "near");
    run("link", "/work/near", "far");
    run("link", "../work/real", "directory");
    run("link", "loop", "loop");
    run("link", "made/by/it", "dangling");
    expect_text("near", "real");
    expect_text("far", "real");
    expect_text("directory/f", "real");
    put("far", "changed");
    expect_text("real/f", "changed");
    assert_true(S_ISREG(ask_of(FILE_STAT, "far")->entry.mode));
    expect(ask_of(FILE_READ, "loop"), "no_such_file");
    expect(ask(&(struct file_spec){.operation = FILE_WRITE, .path = "loop"}), "no_such_file");
    expect(ask_of(FILE_READ, "dangling"), "no_such_file");
    expect(ask_of(FILE_STAT, "dangling"), "no_such_file");
    put("dangling", "now");
    expect_text("made/by/it", "now");
    expect(ask_of(FILE_LIST, "directory"), "");
    expect(ask_of(FILE_REMOVE, "directory"), "");
    expect_text("real/f", "changed");
    run("link", "../../../../../../etc/passwd", "outside");
    expect(ask_of(FILE_READ, "outside"), "no_such_file"); /* the image has none */
}

static void only_regular_files_are_opened(void **state)
{
    (void)state;
    static const char *const paths[] = {"fifo", "socket", "directory", "/dev/zero", "to-fifo", "."};
    open_session(SESSION_LIVE);
    run("fifo", "fifo", NULL);
    run("socket", "socket", NULL);
    run("link", "fifo", "to-fifo");
    expect(ask_of(FILE_MKDIR, "directory"), "");
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        struct file_spec spec = {.operation = FILE_WRITE, .path = paths[i]};
        expect(ask_of(FILE_READ, paths[i]), "not_a_file");
        expect(ask(&spec), "not_a_file");
        spec.appends = true;
        expect(ask(&spec), "not_a_file");
        expect(ask_of(FILE_STAT, paths[i]), "");
    }
}

/* The process that answers is a copy of init, and so of the server. */
static void nothing_of_proc_is_reached(void **state)
{
    (void)state;
    static const char *const targets[] = {
        "/proc/self/mem",  "/proc/self/environ", "/proc/self/maps",    "/proc/self/exe",
        "/proc/self/fd/0", "/proc/self/root",    "/proc/self/cwd/one", "/proc/thread-self/auxv",
        "/proc/1/environ", "/proc/meminfo",      "/proc/self/task",    "/proc/self/map_files"};
    open_session(SESSION_LIVE);
    put("one", "of one");
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++) {
        run("link", targets[i], "link");
        struct file_spec write = {.operation = FILE_WRITE, .path = "link"};
        const char *const paths[] = {targets[i], "link"};
        for (size_t j = 0; j < ARRAY_LENGTH(paths); j++) {
            expect(ask_of(FILE_READ, paths[j]), "not_a_file");
            expect(ask_of(FILE_LIST, paths[j]), "not_a_file");
            write.path = paths[j];
            write.appends = j == 1;
            assert_true(ask(&write)->status < 0);
        }
        expect(ask_of(FILE_REMOVE, "link"), "");
    }
    expect(ask_of(FILE_LIST, "/proc"), "not_a_file");
    expect(ask_of(FILE_STAT, "/proc"), "");
}

static void names_are_any_bytes(void **state)
{
    (void)state;
    char longest[NAME_MAX + 2];
    memset(longest, 'n', sizeof(longest));
    longest[NAME_MAX] = '\0';
    const char *const names[] = {"with\nnewline", "\xff\xfe\x80", longest, " ", "-rf", "a\\b", "*"};
    open_session(SESSION_LIVE);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        put(names[i], "x");
        expect_text(names[i], "x");
        const struct seen *seen = ask_of(FILE_LIST, ".");
        assert_int_equal(
            strncmp(seen->bytes, names[i], strlen(names[i]) < 250 ? strlen(names[i]) : 250), 0);
        assert_int_equal(seen->length, 1);
        expect(move(names[i], "moved"), "");
        expect(ask_of(FILE_REMOVE, "moved"), "");
    }
    longest[NAME_MAX] = 'n';
    longest[NAME_MAX + 1] = '\0';
    expect(ask_of(FILE_READ, longest), "too_large");
    expect(ask(&(struct file_spec){.operation = FILE_WRITE, .path = longest}), "too_large");
}

static void lists_are_bounded(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    run("many", "10000", NULL);
    const struct seen *seen = ask_of(FILE_LIST, ".");
    assert_int_equal(seen->length, FILE_ENTRIES_MAX);
    assert_false(seen->has_more);
    put("one more", "");
    seen = ask_of(FILE_LIST, ".");
    assert_int_equal(seen->length, FILE_ENTRIES_MAX);
    assert_true(seen->has_more);
}

static void what_is_asked_is_bounded(void **state)
{
    (void)state;
    static char path[PATH_MAX + 1];
    memset(path, 'a', PATH_MAX);
    const struct {
        struct file_spec spec;
        int error;
    } cases[] = {
        {{.path = ""}, EINVAL},
        {{.path = path}, ENAMETOOLONG},
        {{.path = "a", .length = FILE_PIECE_MAX + 1}, E2BIG},
        {{.path = "a", .offset = UINT64_MAX}, EINVAL},
        {{.operation = FILE_WRITE, .path = "a", .mode = 04755}, EINVAL},
        {{.operation = FILE_MOVE, .path = "a", .to = ""}, EINVAL},
    };
    open_session(SESSION_LIVE);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fault fault = {0};
        struct session_file *file;
        const struct file_observer observer = {0};
        assert_int_equal(session_file(world.session, &cases[i].spec, &observer, &file, &fault),
                         -cases[i].error);
        assert_true(fault.text[0] != '\0');
    }
}

static void a_full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    static char bytes[700 * KIBIBYTE];
    world.limits.disk_bytes = MEBIBYTE;
    open_session(SESSION_LIVE);
    put("f", "old");
    struct file_spec spec = {
        .operation = FILE_WRITE, .path = "big", .bytes = bytes, .length = sizeof(bytes)};
    expect(ask(&spec), "");
    spec.path = "f";
    expect(ask(&spec), "limit");
    expect_text("f", "old");
    spec.appends = true;
    expect(ask(&spec), "limit");
    expect_text("f", "old");
    assert_string_equal(ask_of(FILE_LIST, ".")->bytes, "big,f,");
}

static void the_image_is_not_changed(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct file_spec spec = {.operation = FILE_WRITE, .path = "/program"};
    expect(ask(&spec), "permission");
    spec.appends = true;
    assert_true(ask(&spec)->status < 0); /* it runs, too */
    spec.path = "/new";
    expect(ask(&spec), "permission");
    expect(ask_of(FILE_MKDIR, "/new"), "permission");
    expect(ask_of(FILE_REMOVE, "/program"), "permission");
    expect(move("/program", "mine"), "permission");
    assert_string_equal(ask_of(FILE_LIST, ".")->bytes, "");
}

static void folders_of_the_host_are_as_for_programs(void **state)
{
    (void)state;
    char paths[2][32] = {"/tmp/session-file-ro-XXXXXX", "/tmp/session-file-ov-XXXXXX"};
    static char places[2][16] = {"/srv/ro", "/srv/over"};
    static struct folder list[2]; /* borrowed until its processes are gone */
    static const struct folders folders = {.list = list, .count = 2};
    const struct folder empty[2] = {{.fd = -1, .place = places[0], .mode = FOLDER_READ_ONLY},
                                    {.fd = -1, .place = places[1], .mode = FOLDER_OVERLAY}};
    memcpy(list, empty, sizeof(list));
    for (size_t i = 0; i < 2; i++) {
        char file[PATH_MAX];
        assert_non_null(mkdtemp(paths[i]));
        assert_int_equal(chmod(paths[i], 0777), 0); /* root's, where root runs this */
        snprintf(file, sizeof(file), "%s/f", paths[i]);
        OWNED_FD int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, "of the host", 11), 11);
        if (fd < 0 || fchmod(fd, 0666) < 0)
            fail();
        assert_int_equal(folder_open(paths[i], &list[i], NULL), 0);
    }
    world.folders = &folders;
    open_session(SESSION_LIVE);
    expect_text("/srv/ro/f", "of the host");
    expect_text("/srv/over/f", "of the host");
    expect(ask(&(struct file_spec){.operation = FILE_WRITE, .path = "/srv/ro/f"}), "permission");
    put("/srv/over/f", "changed");
    put("/srv/over/d/new", "new");
    expect_text("/srv/over/f", "changed");
    assert_string_equal(ask_of(FILE_LIST, "/srv/over")->bytes, "d,f,");
    expect(
        ask(&(struct file_spec){.operation = FILE_REMOVE, .path = "/srv/over/d", .recurses = true}),
        "");
    expect(
        ask(&(struct file_spec){.operation = FILE_REMOVE, .path = "/srv/over", .recurses = true}),
        "permission");
    forget(NULL);
    turn(500);
    for (size_t i = 0; i < 2; i++) {
        struct stat file;
        assert_int_equal(fstatat(list[i].fd, "f", &file, 0), 0);
        assert_int_equal(file.st_size, strlen("of the host"));
        free(list[i].path);
        fd_close(&list[i].fd);
        assert_int_equal(tree_remove(AT_FDCWD, paths[i]), 0);
    }
}

int main(void)
{
    if (!has_jails())
        return 0;
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(pieces_are_read_from_anywhere),
        TEST(large_pieces_come_whole),
        TEST(bytes_are_added_to_the_end),
        TEST(modes_are_kept_or_given),
        TEST(directories_are_made_listed_and_removed),
        TEST(trees_are_removed_and_what_links_lead_to_stays),
        TEST(files_are_moved),
        TEST(links_are_followed_inside),
        TEST(only_regular_files_are_opened),
        TEST(nothing_of_proc_is_reached),
        TEST(names_are_any_bytes),
        TEST(lists_are_bounded),
        TEST(what_is_asked_is_bounded),
        TEST(a_full_disk_keeps_the_old_file),
        TEST(the_image_is_not_changed),
        TEST(folders_of_the_host_are_as_for_programs),
    };
    return cmocka_run_group_tests(tests, open_world, close_stage);
}
