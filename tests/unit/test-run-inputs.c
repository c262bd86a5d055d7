#include "sandbox/run_inputs.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/child/code.h"
#include "sandbox/jail/child/parcel_format.h"
#include "sandbox/jail/child/steps.h"
#include "sandbox/jail/parcel.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PART_255                                                                                    \
    "ppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp" \
    "ppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp" \
    "ppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
#define PARTS_8 "a/b/c/d/e/f/g/h"

static int check_one(const char *name, struct fault *fault)
{
    const struct run_input file = {name, "", 0};
    return run_inputs_check(&file, 1, "main.py", fault);
}

static void names_are_relative_paths_of_plain_parts(void **state)
{
    (void)state;
    _Static_assert(sizeof(PART_255) == 256, "the longest part");
    static const char *const good[] = {
        "x",      "data/x.csv", ".hidden",   "...",         "a/..b",
        "..a/b.", "-rf",        "new\nline", "\xc3\xa9",    " ",
        "a b",    "main",       "main.pyc",  "sub/main.py", "~",
        "a\\b",   "*",          ".code",     PART_255,      PARTS_8 "/" PARTS_8,
    };
    static const char *const bad[] = {
        "",
        "/",
        "/etc/passwd",
        ".",
        "..",
        "./x",
        "../x",
        "a/../b",
        "a/..",
        "a/.",
        "a//b",
        "a/",
        PART_255 "p",
        "a/" PART_255 "p/b",
        "main.py",
        "main.py/x",
        PARTS_8 "/" PARTS_8 "/q",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        struct fault fault = {0};
        if (check_one(good[i], &fault) != 0)
            fail_msg("%s: %s", good[i], fault.text);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct fault fault = {0};
        if (check_one(bad[i], &fault) != -EINVAL || strstr(fault.text, "file name") == NULL)
            fail_msg("%zu: \"%s\"", i, fault.text);
    }
}

static void names_do_not_collide(void **state)
{
    (void)state;
    static const struct {
        const char *one, *other;
        const char *words; /* NULL: both are fine */
    } table[] = {
        {"a", "b", NULL},
        {"a", "ab", NULL},
        {"a/b", "a/c", NULL},
        {"a-b", "a/b", NULL},
        {"a", "a", "two files have the name \"a\""},
        {"d/a", "d/a", "\"d/a\""},
        {"a", "a/b", "\"a\" cannot be a file, because it is a directory of \"a/b\""},
        {"a/b", "a", "\"a\" cannot be a file, because it is a directory of \"a/b\""},
        {"a/b/c/d", "a/b", "\"a/b\" cannot be a file"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        const struct run_input files[] = {
            {"first", "", 0}, {table[i].one, "", 0}, {table[i].other, "", 0}};
        struct fault fault = {0};
        int r = run_inputs_check(files, ARRAY_LENGTH(files), "main.py", &fault);
        assert_int_equal(r, table[i].words == NULL ? 0 : -EINVAL);
        if (table[i].words != NULL && strstr(fault.text, table[i].words) == NULL)
            fail_msg("%zu: %s", i, fault.text);
    }
}

static void number_and_size_are_bounded(void **state)
{
    (void)state;
    static char names[INPUT_FILES_MAX + 1][8];
    struct run_input files[INPUT_FILES_MAX + 1];
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        files[i] = (struct run_input){names[i], "", 0};
    }
    struct fault fault = {0};
    assert_int_equal(run_inputs_check(files, INPUT_FILES_MAX, "main.py", &fault), 0);
    assert_int_equal(run_inputs_check(files, INPUT_FILES_MAX + 1, "main.py", &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "at most 64"));
    files[0].length = INPUT_BYTES_MAX;
    fault = (struct fault){0};
    assert_int_equal(run_inputs_check(files, 2, "main.py", &fault), 0);
    files[1].length = 1;
    assert_int_equal(run_inputs_check(files, 2, "main.py", &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "8 MiB"));
    files[0].length = files[1].length =
        SIZE_MAX / 2; /* as a sum of sizes may be, were it to wrap */
    assert_int_equal(run_inputs_check(files, 2, "main.py", NULL), -E2BIG);
}

/* What the child does, without a jail: into a new directory, which is the current one afterwards. */
static char place[] = "/tmp/test-run-inputs-XXXXXX";

static int place_make(void **state)
{
    (void)state;
    strcpy(place + strlen(place) - 6, "XXXXXX");
    umask(0);
    return mkdtemp(place) == NULL ? -1 : chdir(place);
}

static int place_remove(void **state)
{
    (void)state;
    static const char *const names[] = {"main.py", "d/e/f", "d/e/two", "d/e",
                                        "d",       "empty", "large",   "place"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        remove(names[i]);
    return chdir("/") == 0 ? rmdir(place) : -1;
}

static char large[300000];

static const struct run_input inputs[] = {
    {"empty", "", 0},
    {"d/e/f", "a\0b\n", 4},
    {"large", large, sizeof(large)},
    {"d/e/two", "2", 1},
};

static void fill_spec(struct run_spec *spec)
{
    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = (char)(i * 7 + i / 251);
    *spec = (struct run_spec){
        .code_name = "main.py",
        .code = "print(1)",
        .code_length = 8,
        .inputs = inputs,
        .input_count = ARRAY_LENGTH(inputs),
    };
}

/* Memory with the parcel in it, of which the last `less` bytes are missing. */
static int parcel_memory(const struct parcel *parcel, size_t less)
{
    int fd = memfd_create("parcel", MFD_CLOEXEC);
    assert_true(fd >= 0);
    size_t length = parcel->length - less;
    assert_int_equal(write(fd, parcel->bytes, length), (ssize_t)length);
    return fd;
}

static void assert_file(const char *name, const char *bytes, size_t length)
{
    struct stat about;
    OWNED_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &about) == 0);
    assert_int_equal(about.st_mode, S_IFREG | 0644);
    assert_int_equal(about.st_size, length);
    static char text[sizeof(large) + 1];
    assert_int_equal(read(fd, text, sizeof(text)), (ssize_t)length);
    assert_memory_equal(text, bytes, length);
}

static int perform(const struct parcel *parcel, int fd, struct jail *jail)
{
    static struct jail_plan plan;
    plan = (struct jail_plan){.code_name = "main.py", .code_fd = fd};
    *jail = (struct jail){
        .plan = &plan,
        .code_length = (off_t)parcel->code_length,
        .file_count = parcel->file_count,
    };
    int r = step_write_code(jail);
    return r < 0 ? r : step_write_files(jail);
}

static void the_child_writes_what_the_parent_packed(void **state)
{
    (void)state;
    struct run_spec spec;
    fill_spec(&spec);
    OWNED(parcel_release) struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    assert_int_equal(parcel.length, parcel_size(&spec));
    struct jail jail;
    int fd = parcel_memory(&parcel, 0);
    assert_int_equal(perform(&parcel, fd, &jail), 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* the child needs it no more */
    assert_file("main.py", "print(1)", 8);
    for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++)
        assert_file(inputs[i].name, inputs[i].bytes, inputs[i].length);
    struct stat about;
    assert_true(stat("d/e", &about) == 0 && about.st_mode == (S_IFDIR | 0755));
}

static void a_file_that_is_there_is_not_written_over(void **state)
{
    (void)state;
    struct run_spec spec;
    fill_spec(&spec);
    OWNED(parcel_release) struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    assert_int_equal(symlink("/dev/null", "large"), 0);
    struct jail jail;
    OWNED_FD int fd = parcel_memory(&parcel, 0);
    assert_int_equal(perform(&parcel, dup(fd), &jail), -EEXIST);
    assert_int_equal(jail.step, STEP_WRITE_FILES);
    assert_int_equal(jail.index, 2);
    assert_string_equal(parcel_name(&parcel, (size_t)jail.index), "large");
}

static void a_parcel_without_files_is_the_code(void **state)
{
    (void)state;
    struct run_spec spec;
    fill_spec(&spec);
    spec.input_count = 0;
    OWNED(parcel_release) struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    assert_int_equal(parcel.length, 8);
    assert_memory_equal(parcel.bytes, "print(1)", 8);
    assert_string_equal(parcel_name(&parcel, 0), "");
}

static void less_than_was_said_is_an_error(void **state)
{
    (void)state;
    struct run_spec spec;
    fill_spec(&spec);
    OWNED(parcel_release) struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    size_t last = sizeof(struct parcel_file) + strlen("d/e/two") + 1 + 1;
    const size_t less[] = {1, 2, last - 1, last, parcel.length - 8, parcel.length - 4};
    for (size_t i = 0; i < ARRAY_LENGTH(less); i++) {
        struct jail jail;
        if (perform(&parcel, parcel_memory(&parcel, less[i]), &jail) != -EIO)
            fail_msg("%zu", i);
        place_remove(NULL);
        place_make(NULL);
    }
}

static void write_file(const char *name, const void *bytes, size_t length)
{
    OWNED_FD int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
}

static bool is_unchanged(const struct run_inputs *packed, const char *path)
{
    OWNED_FD int fd = open("place", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    bool unchanged = run_inputs_is_unchanged(packed, path, fd);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    return unchanged;
}

static void a_file_is_unchanged_when_name_size_and_bytes_are_the_same(void **state)
{
    (void)state;
    struct run_spec spec;
    fill_spec(&spec);
    OWNED(parcel_release) struct parcel parcel = {0};
    assert_int_equal(parcel_make(&spec, &parcel), 0);
    OWNED_FD int fd = parcel_memory(&parcel, 0);
    const struct run_inputs packed = {fd, parcel.code_length, parcel.file_count};
    write_file("place", large, sizeof(large));
    assert_true(is_unchanged(&packed, "large"));
    assert_false(is_unchanged(&packed, "larger"));
    assert_false(is_unchanged(&packed, "main.py"));
    assert_false(is_unchanged(&packed, ""));
    assert_false(is_unchanged(&(struct run_inputs){.fd = -1}, "large"));
    static const size_t at[] = {0, 65535, 65536, sizeof(large) - 1};
    for (size_t i = 0; i < ARRAY_LENGTH(at); i++) {
        static char other[sizeof(large)];
        memcpy(other, large, sizeof(large));
        other[at[i]]++;
        write_file("place", other, sizeof(other));
        if (is_unchanged(&packed, "large"))
            fail_msg("a change at %zu is not seen", at[i]);
    }
    write_file("place", large, sizeof(large) - 1);
    assert_false(is_unchanged(&packed, "large"));
    write_file("place", "a\0b\n", 4);
    assert_true(is_unchanged(&packed, "d/e/f"));
    write_file("place", "", 0);
    assert_true(is_unchanged(&packed, "empty"));
    assert_false(is_unchanged(&packed, "d/e/f"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_relative_paths_of_plain_parts),
        cmocka_unit_test(names_do_not_collide),
        cmocka_unit_test(number_and_size_are_bounded),
        cmocka_unit_test_setup_teardown(the_child_writes_what_the_parent_packed, place_make,
                                        place_remove),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_is_not_written_over, place_make,
                                        place_remove),
        cmocka_unit_test(a_parcel_without_files_is_the_code),
        cmocka_unit_test_setup_teardown(less_than_was_said_is_an_error, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_file_is_unchanged_when_name_size_and_bytes_are_the_same,
                                        place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
