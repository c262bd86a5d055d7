#include "interpreter/files/kept_files.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* A file of these bytes and of that size, with NULs behind them. */
static int make_file(const char *bytes, size_t length, uint64_t size)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    return fd;
}

/* Adds a call with one file, "a". Whether it is kept. */
static bool add(struct kept_files *kept, uint64_t call, const char *text, uint64_t size)
{
    OWNED_FD int fd = make_file(text, strlen(text), size);
    struct file_to_keep file = {.path = "a", .fd = fd, .size = size};
    kept_files_add(kept, 0, call, &file, 1);
    return file.is_kept;
}

static bool has(struct kept_files *kept, uint64_t call)
{
    struct kept_view view;
    return kept_files_find(kept, 0, call, "a", &view);
}

static void files_of_a_call_come_back(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    OWNED_FD int first = make_file("first", 5, 5);
    OWNED_FD int empty = make_file("", 0, 0);
    OWNED_FD int second = make_file("second", 6, 6);
    struct file_to_keep files[] = {
        {"d/a", first, 5, false}, {"\xff", empty, 0, false}, {"b", second, 6, false}};
    kept_files_add(&kept, 0, 7, files, 3);
    static const char *const texts[] = {"first", "", "second"};
    for (size_t i = 0; i < 3; i++) {
        struct kept_view view;
        char bytes[16] = "";
        assert_true(files[i].is_kept);
        assert_true(kept_files_find(&kept, 0, 7, files[i].path, &view));
        assert_int_equal(kept_file_read(&view, 0, bytes, sizeof(bytes)), strlen(texts[i]));
        assert_string_equal(bytes, texts[i]);
        assert_int_equal(kept_file_read(&view, strlen(texts[i]), bytes, 1), 0);
    }
    struct kept_view view;
    char bytes[3] = "";
    assert_true(kept_files_find(&kept, 0, 7, "b", &view));
    assert_int_equal(kept_file_read(&view, 3, bytes, 2), 2);
    assert_string_equal(bytes, "on");
    assert_false(kept_files_find(&kept, 0, 7, "a", &view));
    assert_false(kept_files_find(&kept, 0, 8, "b", &view));
    assert_true(kept_files_has_call(&kept, 0, 7) && !kept_files_has_call(&kept, 0, 8));
}

static void nobody_can_change_what_is_kept(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    assert_true(add(&kept, 1, "text", 4));
    assert_true(pwrite(kept.calls[0].fd, "x", 1, 0) < 0);
    assert_true(pwrite(kept.calls[0].fd, "x", 1, 4) < 0);
    assert_int_not_equal(ftruncate(kept.calls[0].fd, 0), 0);
}

static void too_large_a_file_is_not_kept(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    assert_false(add(&kept, 1, "", KEPT_FILE_MAX + 1));
    assert_false(add(&kept, 2, "", UINT64_MAX / 2));
    assert_int_equal(kept.call_count, 0);
    assert_true(add(&kept, 3, "", KEPT_FILE_MAX));
    assert_int_equal(kept.bytes, KEPT_FILE_MAX);
}

static void a_file_shorter_than_it_should_be_is_not_kept_and_the_next_one_is(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    OWNED_FD int cut = make_file("cut", 3, 3);
    OWNED_FD int whole = make_file("whole", 5, 5);
    struct file_to_keep files[] = {{"cut", cut, 9, false}, {"a", whole, 5, false}};
    kept_files_add(&kept, 0, 1, files, 2);
    assert_false(files[0].is_kept);
    assert_true(files[1].is_kept);
    struct kept_view view;
    char bytes[16] = "";
    assert_true(kept_files_find(&kept, 0, 1, "a", &view));
    assert_int_equal(kept_file_read(&view, 0, bytes, sizeof(bytes)), 5);
    assert_string_equal(bytes, "whole");
}

static void what_was_read_the_longest_ago_goes_first(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    size_t room = KEPT_BYTES_MAX / KEPT_FILE_MAX;
    for (uint64_t call = 1; call <= room; call++)
        assert_true(add(&kept, call, "", KEPT_FILE_MAX));
    assert_true(has(&kept, 1)); /* which reads it */
    assert_true(add(&kept, room + 1, "", KEPT_FILE_MAX));
    assert_true(kept_files_has_call(&kept, 0, 1) && !kept_files_has_call(&kept, 0, 2));
    assert_int_equal(kept.newest_dropped, 2);
    assert_true(add(&kept, room + 2, "", 1));
    assert_true(!kept_files_has_call(&kept, 0, 3) && kept_files_has_call(&kept, 0, 4));
    assert_true(kept.bytes <= KEPT_BYTES_MAX);
}

static void a_call_keeps_as_many_as_there_is_room_for(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    assert_true(add(&kept, 1, "old", 3));
    OWNED_FD int fd = make_file("", 0, KEPT_FILE_MAX);
    struct file_to_keep files[KEPT_BYTES_MAX / KEPT_FILE_MAX + 1];
    char names[ARRAY_LENGTH(files)][8];
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        files[i] = (struct file_to_keep){.path = names[i], .fd = fd, .size = KEPT_FILE_MAX};
    }
    kept_files_add(&kept, 0, 2, files, ARRAY_LENGTH(files));
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
        assert_int_equal(files[i].is_kept, i + 1 < ARRAY_LENGTH(files));
    assert_false(kept_files_has_call(&kept, 0, 1));
    assert_int_equal(kept.bytes, KEPT_BYTES_MAX);
}

static void only_the_newest_calls_are_kept_however_often_others_are_read(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    for (uint64_t call = 1; call <= KEPT_CALLS_MAX + 2; call++) {
        assert_true(add(&kept, call, "x", 1));
        assert_int_equal(has(&kept, 1), call <= KEPT_CALLS_MAX);
    }
    for (uint64_t call = 1; call <= KEPT_CALLS_MAX + 2; call++)
        assert_int_equal(has(&kept, call), call > 2);
    assert_int_equal(kept.bytes, KEPT_CALLS_MAX);
}

static void a_call_without_files_changes_nothing(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    assert_true(add(&kept, 1, "x", 1));
    kept_files_add(&kept, 0, 2, NULL, 0);
    assert_int_equal(kept.call_count, 1);
}

static void count_change(void *data)
{
    unsigned *changes = data;
    (*changes)++;
}

static void each_change_is_told_once(void **state)
{
    (void)state;
    unsigned changes = 0;
    OWNED(kept_files_release)
    struct kept_files kept = {.changed = count_change, .data = &changes};
    kept_files_add(&kept, 0, 1, NULL, 0);
    assert_false(add(&kept, 2, "", KEPT_FILE_MAX + 1));
    assert_int_equal(changes, 0);
    assert_true(add(&kept, 3, "x", 1));
    assert_int_equal(changes, 1);
    assert_true(has(&kept, 3) && !has(&kept, 4));
    assert_int_equal(changes, 1);
    for (uint64_t call = 4; call <= 3 + KEPT_BYTES_MAX / KEPT_FILE_MAX; call++)
        assert_true(add(&kept, call, "", KEPT_FILE_MAX));
    assert_false(kept_files_has_call(&kept, 0, 3)); /* dropped and added: one change */
    assert_int_equal(changes, 1 + KEPT_BYTES_MAX / KEPT_FILE_MAX);
}

/* Its file is shorter than it should be: room was made for nothing. */
static void a_change_is_told_when_files_only_go(void **state)
{
    (void)state;
    unsigned changes = 0;
    OWNED(kept_files_release)
    struct kept_files kept = {.changed = count_change, .data = &changes};
    for (uint64_t call = 1; call <= KEPT_BYTES_MAX / KEPT_FILE_MAX; call++)
        assert_true(add(&kept, call, "", KEPT_FILE_MAX));
    changes = 0;
    OWNED_FD int cut = make_file("cut", 3, 3);
    struct file_to_keep file = {.path = "a", .fd = cut, .size = 4};
    kept_files_add(&kept, 0, 9, &file, 1);
    assert_false(file.is_kept);
    assert_false(kept_files_has_call(&kept, 0, 1));
    assert_int_equal(changes, 1);
}

static void the_list_begins_with_the_newest_call(void **state)
{
    (void)state;
    OWNED(kept_files_release) struct kept_files kept = {0};
    OWNED_FD int fd = make_file("text", 4, 4);
    for (uint64_t call = 1; call <= KEPT_CALLS_MAX + 1; call++) {
        struct file_to_keep files[] = {{"b", fd, 4, false}, {"a", fd, 4, false}};
        kept_files_add(&kept, 0, call, files, 2); /* the last one takes the place of the first */
    }
    struct kept_view views[2 * KEPT_CALLS_MAX + 1];
    uint64_t used = kept.calls[0].used;
    assert_int_equal(kept_files_list(&kept, 0, views, ARRAY_LENGTH(views)), 2 * KEPT_CALLS_MAX);
    for (size_t i = 0; i < 2 * (size_t)KEPT_CALLS_MAX; i++) {
        assert_int_equal(views[i].call->number, KEPT_CALLS_MAX + 1 - i / 2);
        assert_string_equal(views[i].file->path, i % 2 == 0 ? "b" : "a");
    }
    assert_int_equal(kept_files_list(&kept, 0, views, 3), 3);
    assert_string_equal(views[2].file->path, "b");
    assert_int_equal(kept_files_list(&kept, 0, views, 0), 0);
    assert_int_equal(kept.calls[0].used, used);
}

/* Where a piece of examine_text() ends. */
#define PIECE 65536

static void text_is_told_from_bytes(void **state)
{
    (void)state;
    static char cut[PIECE + 1];
    memset(cut, 'a', sizeof(cut));
    memcpy(cut + PIECE - 1, "\xc3\xa9", 2); /* a character over the end of a piece */
    static char broken[PIECE + 1];
    memset(broken, 'a', sizeof(broken));
    memcpy(broken + PIECE - 1, "\xc3z", 2);
    static const struct {
        const char *bytes;
        size_t length;
        bool is_text;
    } cases[] = {
        {"", 0, true},          {"a,b\n\x01", 5, true},     {"\xc3\xa9", 2, true},
        {cut, PIECE + 1, true}, {"a\0b", 3, false},         {"\xff", 1, false},
        {"a\xc3", 2, false},    {"\xed\xa0\x80", 3, false}, {broken, PIECE + 1, false},
        {cut, PIECE, false},    {"GIF89a", 6, false},
    };
    OWNED(kept_files_release) struct kept_files kept = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED_FD int fd = make_file(cases[i].bytes, cases[i].length, cases[i].length);
        struct file_to_keep file = {.path = "a", .fd = fd, .size = cases[i].length};
        kept_files_add(&kept, 0, i + 1, &file, 1);
        struct kept_view view;
        assert_true(kept_files_find(&kept, 0, i + 1, "a", &view));
        assert_int_equal(kept_file_is_text(&view), cases[i].is_text);
        assert_int_equal(kept_file_is_text(&view), cases[i].is_text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_call_come_back),
        cmocka_unit_test(nobody_can_change_what_is_kept),
        cmocka_unit_test(too_large_a_file_is_not_kept),
        cmocka_unit_test(a_file_shorter_than_it_should_be_is_not_kept_and_the_next_one_is),
        cmocka_unit_test(what_was_read_the_longest_ago_goes_first),
        cmocka_unit_test(a_call_keeps_as_many_as_there_is_room_for),
        cmocka_unit_test(only_the_newest_calls_are_kept_however_often_others_are_read),
        cmocka_unit_test(a_call_without_files_changes_nothing),
        cmocka_unit_test(each_change_is_told_once),
        cmocka_unit_test(a_change_is_told_when_files_only_go),
        cmocka_unit_test(the_list_begins_with_the_newest_call),
        cmocka_unit_test(text_is_told_from_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
