#include "interpreter/compile_key.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Everything that a program depends on. */
struct parts {
    struct run_spec spec;
    struct stat image;
    const char *argv[4], *environment[4];
    struct run_input inputs[2];
};

static void fill(struct parts *parts)
{
    *parts = (struct parts){
        .argv = {"gcc", "main.c", NULL},
        .environment = {"A=1", "B=2", NULL},
        .inputs = {{"a.h", "text", 4, false}, {"b.h", "", 0, false}},
        .image = {.st_dev = 1, .st_ino = 2, .st_size = 3, .st_mtim = {.tv_sec = 4, .tv_nsec = 5}},
    };
    parts->spec = (struct run_spec){
        .image = "c",
        .argv = parts->argv,
        .environment = parts->environment,
        .code_name = "main.c",
        .code = "int x;",
        .code_length = 6,
        .inputs = parts->inputs,
        .input_count = 2,
    };
}

static bool same(const struct parts *one, const struct parts *other)
{
    OWNED(buffer_release) struct buffer first = BUFFER(4096);
    OWNED(buffer_release) struct buffer second = BUFFER(4096);
    assert_int_equal(compile_key_write(&one->spec, &one->image, &first), 0);
    assert_int_equal(compile_key_write(&other->spec, &other->image, &second), 0);
    return first.length == second.length && memcmp(first.data, second.data, first.length) == 0;
}

static void the_same_parts_have_the_same_key(void **state)
{
    (void)state;
    struct parts one, other;
    fill(&one);
    fill(&other);
    assert_true(same(&one, &other));
}

/* Whether the key is another one after a change. */
#define CHANGES(...)                                                                               \
    do {                                                                                           \
        struct parts one, other;                                                                   \
        fill(&one);                                                                                \
        fill(&other);                                                                              \
        __VA_ARGS__;                                                                               \
        assert_false(same(&one, &other));                                                          \
    } while (0)

static void each_part_changes_the_key(void **state)
{
    (void)state;
    CHANGES(other.spec.image = "cpp");
    CHANGES(other.image.st_dev++);
    CHANGES(other.image.st_ino++);
    CHANGES(other.image.st_size++);
    CHANGES(other.image.st_mtim.tv_sec++);
    CHANGES(other.image.st_mtim.tv_nsec++);
    CHANGES(other.argv[0] = "cc");
    CHANGES(other.argv[1] = NULL);
    CHANGES(other.argv[2] = "-O2");
    CHANGES(other.environment[0] = "A=2");
    CHANGES(other.environment[1] = NULL);
    CHANGES(other.environment[2] = "C=3");
    CHANGES(other.spec.code_name = "main.C");
    CHANGES(other.spec.code = "int y;");
    CHANGES(other.spec.code_length = 5);
    CHANGES(other.inputs[0].name = "c.h");
    CHANGES(other.inputs[0].bytes = "Text");
    CHANGES(other.inputs[0].length = 3);
    CHANGES(other.inputs[0].is_executable = true);
    CHANGES(other.spec.input_count = 1);
    CHANGES(other.inputs[1] = other.inputs[0]; other.inputs[0] = one.inputs[1]);
}

static void parts_that_are_read_together_alike_have_other_keys(void **state)
{
    (void)state;
    CHANGES(one.argv[0] = "ab"; one.argv[1] = "c"; other.argv[0] = "a"; other.argv[1] = "bc");
    CHANGES(one.argv[0] = "gccmain.c"; one.argv[1] = NULL);
    CHANGES(one.argv[2] = "A=1"; one.environment[0] = "B=2"; one.environment[1] = NULL);
    CHANGES(one.spec.code_name = "main.ci"; one.spec.code = "nt x;"; one.spec.code_length = 5);
    CHANGES(one.inputs[0] = (struct run_input){"a.htext", "", 0, false});
    CHANGES(one.inputs[0] = (struct run_input){"a.h", "text\3\0\0\0\0\0\0\0b.h", 15, false};
            one.spec.input_count = 1);
}

static void an_empty_word_is_one_word(void **state)
{
    (void)state;
    CHANGES(one.argv[2] = "");
    CHANGES(one.environment[2] = "");
    CHANGES(one.argv[1] = ""; one.argv[2] = "A=1"; other.argv[1] = NULL);
    /* argv ["gcc"], environment ["x"], name "n"; and argv ["gcc", "", "x"], no environment, name "n". */
    CHANGES(one.argv[1] = NULL; one.environment[0] = "x"; one.environment[1] = NULL;
            other.argv[1] = ""; other.argv[2] = "x"; other.environment[0] = NULL);
}

static void bytes_of_the_code_may_be_any(void **state)
{
    (void)state;
    CHANGES(one.spec.code = "a\0b"; one.spec.code_length = 3; other.spec.code = "a\0c";
            other.spec.code_length = 3);
    CHANGES(one.spec.code = NULL; one.spec.code_length = 0);
}

static void what_does_not_go_into_the_program_is_not_in_the_key(void **state)
{
    (void)state;
    struct parts one, other;
    fill(&one);
    fill(&other);
    other.spec.stdin_source = (struct run_stdin){STDIN_BYTES, "in", 2, -1};
    other.spec.limits.wall_ms = 7;
    other.image.st_atim.tv_sec = 9;
    assert_true(same(&one, &other));
}

static void a_key_that_does_not_fit_is_told(void **state)
{
    (void)state;
    struct parts parts;
    fill(&parts);
    OWNED(buffer_release) struct buffer whole = BUFFER(4096);
    assert_int_equal(compile_key_write(&parts.spec, &parts.image, &whole), 0);
    for (size_t room = 0; room < whole.length; room++) {
        OWNED(buffer_release) struct buffer small = BUFFER(room);
        assert_int_equal(compile_key_write(&parts.spec, &parts.image, &small), -ENOBUFS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_parts_have_the_same_key),
        cmocka_unit_test(each_part_changes_the_key),
        cmocka_unit_test(parts_that_are_read_together_alike_have_other_keys),
        cmocka_unit_test(an_empty_word_is_one_word),
        cmocka_unit_test(bytes_of_the_code_may_be_any),
        cmocka_unit_test(what_does_not_go_into_the_program_is_not_in_the_key),
        cmocka_unit_test(a_key_that_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
