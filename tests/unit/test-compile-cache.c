#include "interpreter/compile_cache.h"

#include "interpreter/settings/settings.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/limits/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MUCH MEBIBYTE
#define PROGRAM_BYTES 1000

/* In the place of that of the C library, so that a directory can be another user's. */
static uid_t user_offset;

uid_t geteuid(void)
{
    return getuid() + user_offset;
}

static void drop(struct compiled **compiled)
{
    compiled_drop(*compiled);
}

/* A cache of its own for each test, removed after it. */
static int cache_make(void **state)
{
    static char path[64];
    strcpy(path, "/tmp/test-compile-cache-XXXXXX");
    *state = path;
    return mkdtemp(path) != NULL ? setenv("XDG_CACHE_HOME", path, 1) : -1;
}

static int cache_remove(void **state)
{
    return tree_remove(AT_FDCWD, *state);
}

static const char *directory(void)
{
    static char *found = NULL;
    free(found);
    assert_int_equal(settings_compile_cache(&found), 0);
    return found;
}

/* The path of a file in it. */
static const char *path_of(const char *name)
{
    static char *path = NULL;
    free(path);
    assert_true(asprintf(&path, "%s/%s", directory(), name) > 0);
    return path;
}

/* Takes a file out of it, or back. */
static void move(void **state, const char *name, bool back, const char *other_name)
{
    char outside[128];
    snprintf(outside, sizeof(outside), "%s/%.31s", (const char *)*state, name);
    if (back)
        assert_int_equal(rename(outside, path_of(other_name)), 0);
    else
        assert_int_equal(rename(path_of(name), outside), 0);
}

static void move_out(void **state, const char *name)
{
    move(state, name, false, NULL);
}

static void move_back(void **state, const char *name, const char *other_name)
{
    move(state, name, true, other_name);
}

static struct buffer key_of(const char *text)
{
    struct buffer key = BUFFER(4096);
    assert_int_equal(buffer_append_text(&key, text), 0);
    return key;
}

/* A program of PROGRAM_BYTES, or a little more, that has the text. */
static struct compiled *make_program(const char *text)
{
    OWNED(run_result_release) struct run_result result = {0};
    struct compiled *compiled = NULL;
    struct fault fault = {0};
    int fd = memfd_create("program", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(ftruncate(fd, PROGRAM_BYTES), 0);
    result.files.list[0] = (struct run_file){strdup("main"), fd, PROGRAM_BYTES};
    result.files.count = 1;
    assert_int_equal(compiled_make(&result, &compiled, &fault), 0);
    return compiled;
}

/* The text is key and program. */
static void add(const char *text, uint64_t most)
{
    OWNED(buffer_release) struct buffer key = key_of(text);
    OWNED(drop) struct compiled *compiled = make_program(text);
    compile_cache_add(&key, compiled, most);
}

/* Whether a program is kept under that key; it must be the right one. */
static bool has(const char *text)
{
    OWNED(buffer_release) struct buffer key = key_of(text);
    OWNED(drop) struct compiled *compiled = compile_cache_find(&key);
    if (compiled == NULL)
        return false;
    assert_int_equal(compiled->file_count, 1);
    assert_string_equal(compiled->files[0].bytes, text);
    assert_true(compiled->report.was_kept);
    return true;
}

/* The number of files in the directory; the name of the last one that was read, and the bytes of all. */
struct listing {
    size_t count;
    char name[32];
    uint64_t bytes;
};

static struct listing list(void)
{
    struct listing listing = {0};
    OWNED(directory_release) DIR *entries = opendir(directory());
    struct stat about;
    for (const struct dirent *it; entries != NULL && (it = directory_next(entries)) != NULL;) {
        assert_int_equal(stat(path_of(it->d_name), &about), 0);
        snprintf(listing.name, sizeof(listing.name), "%.31s", it->d_name);
        listing.bytes += (uint64_t)about.st_size;
        listing.count++;
    }
    return listing;
}

static void write_file(const char *name)
{
    OWNED_FD int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
}

/* As if it had been used so long ago. */
static void make_old(const char *name, time_t seconds)
{
    const struct timespec then[2] = {{.tv_sec = time(NULL) - seconds},
                                     {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path_of(name), then, 0), 0);
}

static bool is_there(const char *name)
{
    struct stat about;
    return lstat(path_of(name), &about) == 0;
}

/* The name of its file, which is the only one of a cache that was empty. */
static void add_alone(const char *text, char name[static 32])
{
    add(text, MUCH);
    struct listing listing = list();
    assert_int_equal(listing.count, 1);
    memcpy(name, listing.name, sizeof(listing.name));
}

static void what_was_added_is_found(void **state)
{
    (void)state;
    struct stat about;
    assert_false(has("one"));
    assert_int_equal(list().count, 0);
    add("one", MUCH);
    add("two", MUCH);
    assert_true(has("one") && has("two"));
    assert_false(has("three") || has("on") || has("onee") || has(""));
    add("one", MUCH);
    assert_int_equal(list().count, 2);
    assert_int_equal(stat(directory(), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    assert_int_equal(stat(path_of(list().name), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
}

static void a_key_may_be_any_bytes(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer key = BUFFER(16), other = BUFFER(16);
    OWNED(drop) struct compiled *compiled = make_program("x");
    buffer_append(&key, "\0\xff/..", 5);
    buffer_append(&other, "\0\xff/.,", 5);
    compile_cache_add(&key, compiled, MUCH);
    OWNED(drop) struct compiled *found = compile_cache_find(&key);
    OWNED(drop) struct compiled *none = compile_cache_find(&other);
    assert_true(found != NULL && none == NULL);
}

static void another_key_of_the_same_name_is_not_found(void **state)
{
    char one[32], two[32];
    add_alone("one", one);
    move_out(state, one);
    add_alone("two", two);
    move_back(state, one, two);
    assert_false(has("two") || has("one"));
    add("two", MUCH);
    assert_true(has("two"));
}

static void a_file_that_is_cut_or_longer_is_not_used(void **state)
{
    (void)state;
    char name[32];
    add_alone("one", name);
    off_t size = (off_t)list().bytes;
    static const off_t grown[] = {1, 4096, (off_t)TEBIBYTE};
    for (size_t i = 0; i < ARRAY_LENGTH(grown); i++) {
        assert_int_equal(truncate(path_of(name), size + grown[i]), 0);
        assert_false(has("one"));
    }
    for (off_t length = size - 1; length >= 0; length--) {
        assert_int_equal(truncate(path_of(name), length), 0);
        assert_false(has("one"));
    }
    add("one", MUCH);
    assert_true(has("one"));
}

static void a_length_of_a_key_that_cannot_be_is_none(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 2, 4, UINT64_MAX, UINT64_MAX - 7};
    char name[32];
    add_alone("one", name);
    for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
        OWNED_FD int fd = open(path_of(name), O_WRONLY | O_CLOEXEC);
        assert_int_equal(io_write_at(fd, &lengths[i], sizeof(lengths[i]), 0), 0);
        assert_false(has("one"));
    }
}

static void what_is_no_file_is_not_used(void **state)
{
    char name[32], moved[128];
    add_alone("one", name);
    move_out(state, name);
    snprintf(moved, sizeof(moved), "%s/%s", (const char *)*state, name);
    assert_int_equal(symlink(moved, path_of(name)), 0);
    assert_false(has("one"));
    assert_int_equal(unlink(path_of(name)), 0);
    assert_int_equal(mkfifo(path_of(name), 0600), 0);
    assert_false(has("one"));
    assert_int_equal(unlink(path_of(name)), 0);
    assert_int_equal(mkdir(path_of(name), 0700), 0);
    assert_false(has("one"));
    add("one", MUCH);
    assert_false(has("one"));
    assert_int_equal(list().count, 1); /* and nothing unfinished */
}

static void programs_together_have_no_more_bytes_than_they_may(void **state)
{
    (void)state;
    char text[16];
    for (int i = 0; i < 12; i++) {
        snprintf(text, sizeof(text), "%d", i);
        add(text, 4 * PROGRAM_BYTES);
        assert_true(list().bytes <= 4 * PROGRAM_BYTES);
        assert_true(has(text));
    }
    assert_int_equal(list().count, 3);
    add("small", 2 * PROGRAM_BYTES);
    assert_int_equal(list().count, 1);
    assert_true(has("small"));
}

static void those_used_least_recently_go_first(void **state)
{
    static const char *const texts[] = {"a", "b", "c"};
    char names[3][32];
    for (size_t i = 0; i < 3; i++) {
        add_alone(texts[i], names[i]);
        move_out(state, names[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        move_back(state, names[i], names[i]);
        make_old(names[i], 3000 - 1000 * (time_t)i);
    }
    assert_true(has("a")); /* is the newest now */
    add("d", 4 * PROGRAM_BYTES);
    assert_true(!has("b") && has("a") && has("c") && has("d"));
}

static void what_is_too_large_takes_the_place_of_none(void **state)
{
    (void)state;
    add("one", MUCH);
    add("two", PROGRAM_BYTES);
    assert_true(has("one") && !has("two"));
}

static void nothing_is_made_where_nothing_may_be_kept(void **state)
{
    (void)state;
    struct stat about;
    add("one", 0);
    assert_int_not_equal(stat(directory(), &about), 0);
    assert_false(has("one"));
}

static void unfinished_files_go_after_a_while(void **state)
{
    (void)state;
    static const char *const old[] = {"0123456789abcdef.000001", "0123456789abcdef.",
                                      "fedcba9876543210.x"};
    static const char *const others[] = {
        "README",           "0123456789abcde",  "0123456789abcdefa",
        "0123456789abcdeg", "0123456789ABCDEF", "0123456789abcde.1"};
    add("one", MUCH);
    write_file("0123456789abcdef.000002");
    for (size_t i = 0; i < ARRAY_LENGTH(old); i++) {
        write_file(old[i]);
        make_old(old[i], 1000);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        write_file(others[i]);
        make_old(others[i], 100000);
    }
    add("two", 2 * PROGRAM_BYTES);
    for (size_t i = 0; i < ARRAY_LENGTH(old); i++)
        assert_false(is_there(old[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_true(is_there(others[i]));
    assert_true(is_there("0123456789abcdef.000002"));
    assert_true(has("two") && !has("one"));
}

static void more_entries_than_are_looked_at_are_removed(void **state)
{
    (void)state;
    add("one", MUCH);
    for (unsigned i = 0; i < 4200; i++) {
        char name[24];
        snprintf(name, sizeof(name), "%016x", i);
        write_file(name);
    }
    add("two", MUCH);
    assert_in_range(list().count, 1, 4096);
}

static void a_directory_that_others_can_write_to_is_not_used(void **state)
{
    (void)state;
    static const mode_t modes[] = {0777, 0770, 0702, 01777};
    add("one", MUCH);
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
        assert_int_equal(chmod(directory(), modes[i]), 0);
        assert_false(has("one"));
        add("two", MUCH);
        assert_int_equal(list().count, 1);
    }
    assert_int_equal(chmod(directory(), 0755), 0);
    assert_true(has("one"));
}

static void a_directory_of_another_user_is_not_used(void **state)
{
    (void)state;
    add("one", MUCH);
    user_offset = 1;
    assert_false(has("one"));
    add("two", MUCH);
    user_offset = 0;
    assert_int_equal(list().count, 1);
    assert_true(has("one"));
}

static void a_link_in_the_place_of_the_directory_is_not_used(void **state)
{
    char moved[128];
    snprintf(moved, sizeof(moved), "%s/moved", (const char *)*state);
    add("one", MUCH);
    assert_int_equal(rename(directory(), moved), 0);
    assert_int_equal(symlink(moved, directory()), 0);
    assert_false(has("one"));
    add("two", MUCH);
    assert_int_equal(list().count, 1);
}

static void a_directory_that_cannot_be_is_done_without(void **state)
{
    (void)state;
    static const char *const places[] = {"/dev/null", "/dev/null/below", "/proc/1"};
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        assert_int_equal(setenv("XDG_CACHE_HOME", places[i], 1), 0);
        add("one", MUCH);
        assert_false(has("one"));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, cache_make, cache_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_added_is_found),
        TEST(a_key_may_be_any_bytes),
        TEST(another_key_of_the_same_name_is_not_found),
        TEST(a_file_that_is_cut_or_longer_is_not_used),
        TEST(a_length_of_a_key_that_cannot_be_is_none),
        TEST(what_is_no_file_is_not_used),
        TEST(programs_together_have_no_more_bytes_than_they_may),
        TEST(those_used_least_recently_go_first),
        TEST(what_is_too_large_takes_the_place_of_none),
        TEST(nothing_is_made_where_nothing_may_be_kept),
        TEST(unfinished_files_go_after_a_while),
        TEST(more_entries_than_are_looked_at_are_removed),
        TEST(a_directory_that_others_can_write_to_is_not_used),
        TEST(a_directory_of_another_user_is_not_used),
        TEST(a_link_in_the_place_of_the_directory_is_not_used),
        TEST(a_directory_that_cannot_be_is_done_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
