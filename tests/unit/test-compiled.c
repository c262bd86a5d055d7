#include "interpreter/compiled.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Where numbers are in the bytes. */
enum { OUT_LENGTH = 16, ERR_LENGTH = 24, OUT_TOTAL = 32, DURATION = 48, FILE_COUNT = 56 };

static void drop(struct compiled **compiled)
{
    compiled_drop(*compiled);
}

static void add_file(struct run_result *result, const char *path, const char *text, mode_t mode)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    size_t length = strlen(text);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    assert_int_equal(fchmod(fd, mode), 0);
    result->files.list[result->files.count++] = (struct run_file){strdup(path), fd, length};
}

static void print(struct capture *capture, const char *bytes, size_t length)
{
    capture_open(capture, RUN_OUTPUT_KEPT_DEFAULT);
    assert_int_equal(capture_add(capture, bytes, length), 0);
}

/* Two files, one in a directory, and what the compiler printed. */
static void fill(struct run_result *result)
{
    *result = (struct run_result){.duration_ns = 1234567};
    add_file(result, "main", "#!/bin/sh\n", 0755);
    add_file(result, "d/e/f", "", 0644);
    print(&result->out, "out", 3);
    print(&result->err, "a warning", 9);
}

static struct compiled *make(struct run_result *result)
{
    struct fault fault = {0};
    struct compiled *compiled = NULL;
    assert_int_equal(compiled_make(result, &compiled, &fault), 0);
    return compiled;
}

/* Reads these bytes, from a block of their own size. */
static int read_bytes(const char *bytes, size_t length, struct compiled **ret_compiled)
{
    OWNED(buffer_release) struct buffer copy = BUFFER(COMPILED_BYTES_MAX);
    copy.data = malloc(length > 0 ? length : 1);
    assert_non_null(copy.data);
    memcpy(copy.data, bytes, length);
    copy.length = copy.capacity = length;
    return compiled_read(&copy, ret_compiled);
}

static void check(const struct compiled *compiled)
{
    assert_int_equal(compiled->file_count, 2);
    assert_string_equal(compiled->files[0].name, "main");
    assert_int_equal(compiled->files[0].length, 10);
    assert_memory_equal(compiled->files[0].bytes, "#!/bin/sh\n", 10);
    assert_true(compiled->files[0].is_executable);
    assert_string_equal(compiled->files[1].name, "d/e/f");
    assert_int_equal(compiled->files[1].length, 0);
    assert_false(compiled->files[1].is_executable);
    const struct run_compile *report = &compiled->report;
    assert_true(report->outcome == OUTCOME_EXITED && report->exit_code == 0 && report->signal == 0);
    assert_true(report->duration_ns == 1234567 && !report->was_kept);
    assert_int_equal(report->out.head.length, 3);
    assert_memory_equal(report->out.head.data, "out", 3);
    assert_int_equal(report->err.head.length, 9);
    assert_memory_equal(report->err.head.data, "a warning", 9);
    assert_true(report->err.total == 9 && report->err.cut == 0);
}

static void what_a_compiler_left_comes_back(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result;
    fill(&result);
    OWNED(drop) struct compiled *made = make(&result);
    check(made);
    OWNED(drop) struct compiled *read = NULL;
    assert_int_equal(read_bytes(made->bytes.data, made->bytes.length, &read), 0);
    check(read);
    assert_int_equal(read->bytes.length, made->bytes.length);
    assert_memory_equal(read->bytes.data, made->bytes.data, made->bytes.length);
}

static void a_compiler_may_leave_nothing(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = {0};
    OWNED(drop) struct compiled *compiled = make(&result);
    assert_int_equal(compiled->file_count, 0);
    assert_int_equal(compiled->report.out.total, 0);
}

static void of_long_messages_the_beginning_is_kept(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = {0};
    OWNED_MEMORY char *text = malloc(3 * MEBIBYTE);
    assert_non_null(text);
    memset(text, 'x', 3 * MEBIBYTE);
    print(&result.err, text, 3 * MEBIBYTE);
    OWNED(drop) struct compiled *compiled = make(&result);
    const struct capture *err = &compiled->report.err;
    assert_int_equal(err->head.length, COMPILE_TEXT_MAX);
    assert_int_equal(err->total, 3 * MEBIBYTE);
    assert_int_equal(err->cut, 3 * MEBIBYTE - COMPILE_TEXT_MAX);
    assert_int_equal(err->tail.length, 0);
}

static void bytes_that_are_cut_are_refused(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result;
    fill(&result);
    OWNED(drop) struct compiled *made = make(&result), *read = NULL;
    for (size_t length = 0; length < made->bytes.length; length++)
        assert_int_equal(read_bytes(made->bytes.data, length, &read), -EBADMSG);
    assert_null(read);
}

static void bytes_behind_the_end_are_refused(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result;
    fill(&result);
    OWNED(drop) struct compiled *made = make(&result), *read = NULL;
    OWNED_MEMORY char *longer = calloc(made->bytes.length + 1, 1);
    assert_non_null(longer);
    memcpy(longer, made->bytes.data, made->bytes.length);
    assert_int_equal(read_bytes(longer, made->bytes.length + 1, &read), -EBADMSG);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t place;
        uint64_t number;
    } wrong[] = {
        {0, 0},
        {8, 0x3200000000000000},
        {OUT_LENGTH, 4},
        {OUT_LENGTH, UINT64_MAX},
        {ERR_LENGTH, 8},
        {ERR_LENGTH, COMPILE_TEXT_MAX + 1},
        {OUT_TOTAL, 2},
        {DURATION, UINT64_MAX},
        {FILE_COUNT, 1},
        {FILE_COUNT, 3},
        {FILE_COUNT, COMPILED_FILES_MAX + 1},
        {FILE_COUNT, UINT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        OWNED(run_result_release) struct run_result result;
        fill(&result);
        OWNED(drop) struct compiled *made = make(&result), *read = NULL;
        memcpy(made->bytes.data + wrong[i].place, &wrong[i].number, sizeof(wrong[i].number));
        assert_int_equal(read_bytes(made->bytes.data, made->bytes.length, &read), -EBADMSG);
    }
}

static void too_long_a_text_is_refused(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = {0};
    OWNED_MEMORY char *text = malloc(COMPILE_TEXT_MAX);
    assert_non_null(text);
    memset(text, 0, COMPILE_TEXT_MAX);
    print(&result.out, text, COMPILE_TEXT_MAX);
    print(&result.err, "x", 1);
    OWNED(drop) struct compiled *made = make(&result), *read = NULL;
    const uint64_t lengths[] = {COMPILE_TEXT_MAX + 1, 0};
    memcpy(made->bytes.data + OUT_LENGTH, lengths, sizeof(lengths));
    memcpy(made->bytes.data + OUT_TOTAL, lengths, sizeof(lengths[0]));
    assert_int_equal(read_bytes(made->bytes.data, made->bytes.length, &read), -EBADMSG);
}

/* The bytes of a program with two files, whose names are written over. */
static int read_with_names(const char *first, const char *second)
{
    OWNED(run_result_release) struct run_result result = {0};
    OWNED(drop) struct compiled *read = NULL;
    char name[8] = "xxx0";
    size_t done = 0;
    add_file(&result, name, "", 0644);
    name[3] = '1';
    add_file(&result, name, "", 0644);
    OWNED(drop) struct compiled *made = make(&result);
    for (size_t at = 0; done < 2; at++) {
        if (memcmp(made->bytes.data + at, "xxx", 3) != 0)
            continue;
        memcpy(made->bytes.data + at, done == 0 ? first : second, 5);
        done++;
    }
    return read_bytes(made->bytes.data, made->bytes.length, &read);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"../x", "/xyz", "x//y", "x/..",
                                        "./xy", "xyz/", "x/./", "xy\0\0"};
    assert_int_equal(read_with_names("x/y\xff", "a..b"), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        assert_int_equal(read_with_names(names[i], "good"), -EBADMSG);
        assert_int_equal(read_with_names("good", names[i]), -EBADMSG);
    }
}

static void a_name_without_an_end_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_with_names("good", "bad!!"), -EBADMSG);
}

static void two_files_of_one_name_are_refused(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = {0};
    struct compiled *compiled = NULL;
    struct fault fault = {0};
    assert_int_equal(read_with_names("same", "same"), -EBADMSG);
    add_file(&result, "x", "", 0644);
    add_file(&result, "x/y", "", 0644);
    assert_int_equal(compiled_make(&result, &compiled, &fault), -EBADMSG);
    assert_true(compiled == NULL && fault.text[0] != '\0');
}

/* What a compiler left, and what is told of it. */
static void check_refused(struct run_result *result, int error, const char *text)
{
    struct compiled *compiled = NULL;
    struct fault fault = {0};
    assert_int_equal(compiled_make(result, &compiled, &fault), error);
    assert_null(compiled);
    assert_non_null(strstr(fault.text, text));
}

static void too_many_files_are_refused(void **state)
{
    (void)state;
    OWNED(run_result_release)
    struct run_result some = {.files = {.more = 1}}, uncounted = {.files = {.more_at_least = true}},
                      lost = {.files_lost = true};
    check_refused(&some, -E2BIG, "more than 256 files");
    check_refused(&uncounted, -E2BIG, "more than 256 files");
    check_refused(&lost, -ENFILE, "could not be collected");
}

static void too_large_files_are_refused(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result one = {0}, two = {0};
    add_file(&one, "one", "", 0644);
    one.files.list[0].size = COMPILED_BYTES_MAX;
    check_refused(&one, -E2BIG, "more than 64 MiB");
    one.files.list[0].size = UINT64_MAX;
    check_refused(&one, -E2BIG, "more than 64 MiB");
    for (size_t i = 0; i < 2; i++) {
        add_file(&two, i == 0 ? "first" : "second", "", 0644);
        two.files.list[i].size = COMPILED_BYTES_MAX / 2;
        assert_int_equal(ftruncate(two.files.list[i].fd, COMPILED_BYTES_MAX / 2), 0);
    }
    check_refused(&two, -E2BIG, "more than 64 MiB");
}

static void a_file_that_is_shorter_than_it_was_is_told(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = {0};
    add_file(&result, "short", "text", 0644);
    result.files.list[0].size = 5;
    check_refused(&result, -EIO, "reading the files of the compiler");
}

static void a_program_stays_for_its_last_user(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result;
    fill(&result);
    struct compiled *compiled = make(&result);
    assert_ptr_equal(compiled_use(compiled), compiled);
    compiled_drop(compiled);
    check(compiled);
    compiled_drop(compiled);
    compiled_drop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_compiler_left_comes_back),
        cmocka_unit_test(a_compiler_may_leave_nothing),
        cmocka_unit_test(of_long_messages_the_beginning_is_kept),
        cmocka_unit_test(bytes_that_are_cut_are_refused),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
        cmocka_unit_test(too_long_a_text_is_refused),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(a_name_without_an_end_is_refused),
        cmocka_unit_test(two_files_of_one_name_are_refused),
        cmocka_unit_test(too_many_files_are_refused),
        cmocka_unit_test(too_large_files_are_refused),
        cmocka_unit_test(a_file_that_is_shorter_than_it_was_is_told),
        cmocka_unit_test(a_program_stays_for_its_last_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
