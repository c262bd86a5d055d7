#include "interpreter/kept_snippet.h"

#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A snippet all of whose texts can be changed. */
struct original {
    char image[8], directory[8], program[8], code[8], in[8], words[2][8], names[2][8], bytes[2][8];
    const char *arguments[3];
    struct run_input inputs[2];
    struct snippet snippet;
};

static void put_texts(struct original *original, const char *text)
{
    char *const all[] = {original->image,    original->directory, original->program,
                         original->code,     original->in,        original->words[0],
                         original->words[1], original->names[0],  original->names[1],
                         original->bytes[0], original->bytes[1]};
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
        snprintf(all[i], sizeof(original->image), "%s%zu", text, i % 10);
}

static void fill(struct original *original)
{
    put_texts(original, "text");
    original->arguments[0] = original->words[0];
    original->arguments[1] = original->words[1];
    original->arguments[2] = NULL;
    for (size_t i = 0; i < 2; i++)
        original->inputs[i] = (struct run_input){original->names[i], original->bytes[i], 5, i == 1};
    original->snippet = (struct snippet){
        .image = original->image,
        .directory = original->directory,
        .program = original->program,
        .code = original->code,
        .length = 5,
        .arguments = original->arguments,
        .inputs = original->inputs,
        .input_count = 2,
        .stdin_source = {STDIN_BYTES, original->in, 5, -1},
        .wall_ms = 1,
        .memory_bytes = 2,
        .compile_ms = 3,
        .joins_output = true,
    };
}

static void a_copy_stays_when_the_original_changes(void **state)
{
    (void)state;
    struct original original;
    fill(&original);
    OWNED(kept_snippet_release) struct kept_snippet kept = {0};
    assert_int_equal(kept_snippet_make(&original.snippet, &kept), 0);
    put_texts(&original, "XXXX");
    original.arguments[0] = NULL;
    memset(original.inputs, 0xff, sizeof(original.inputs));
    memset(&original.snippet, 0xff, sizeof(original.snippet));
    const struct snippet *copy = &kept.snippet;
    assert_string_equal(copy->image, "text0");
    assert_string_equal(copy->directory, "text1");
    assert_string_equal(copy->program, "text2");
    assert_memory_equal(copy->code, "text3", 5);
    assert_memory_equal(copy->stdin_source.bytes, "text4", 5);
    assert_string_equal(copy->arguments[0], "text5");
    assert_string_equal(copy->arguments[1], "text6");
    assert_null(copy->arguments[2]);
    assert_string_equal(copy->inputs[0].name, "text7");
    assert_string_equal(copy->inputs[1].name, "text8");
    assert_memory_equal(copy->inputs[0].bytes, "text9", 5);
    assert_memory_equal(copy->inputs[1].bytes, "text0", 5);
    assert_true(!copy->inputs[0].is_executable && copy->inputs[1].is_executable);
    assert_true(copy->length == 5 && copy->input_count == 2 && copy->stdin_source.length == 5);
    assert_true(copy->wall_ms == 1 && copy->memory_bytes == 2 && copy->compile_ms == 3);
    assert_true(copy->joins_output);
}

static void what_is_not_there_is_not_there_in_the_copy(void **state)
{
    (void)state;
    const struct snippet nothing = {0};
    OWNED(kept_snippet_release) struct kept_snippet kept = {0};
    assert_int_equal(kept_snippet_make(&nothing, &kept), 0);
    assert_true(kept.snippet.image == NULL && kept.snippet.directory == NULL);
    assert_true(kept.snippet.program == NULL && kept.snippet.arguments == NULL);
    assert_true(kept.snippet.length == 0 && kept.snippet.input_count == 0);
}

static void no_arguments_are_another_thing_than_none_given(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    const struct snippet snippet = {.code = "", .arguments = none};
    OWNED(kept_snippet_release) struct kept_snippet kept = {0};
    assert_int_equal(kept_snippet_make(&snippet, &kept), 0);
    assert_non_null(kept.snippet.arguments);
    assert_null(kept.snippet.arguments[0]);
    assert_ptr_not_equal(kept.snippet.arguments, none);
}

static void bytes_may_be_any(void **state)
{
    (void)state;
    char code[] = "a\0b", bytes[] = "\0\xff";
    const struct run_input input = {"x", bytes, 2, false};
    const struct snippet snippet = {.code = code, .length = 3, .inputs = &input, .input_count = 1};
    OWNED(kept_snippet_release) struct kept_snippet kept = {0};
    assert_int_equal(kept_snippet_make(&snippet, &kept), 0);
    memset(code, 'x', sizeof(code));
    memset(bytes, 'x', sizeof(bytes));
    assert_memory_equal(kept.snippet.code, "a\0b", 3);
    assert_memory_equal(kept.snippet.inputs[0].bytes, "\0\xff", 2);
}

static void a_descriptor_stays_the_callers(void **state)
{
    (void)state;
    const struct snippet snippet = {.code = "",
                                    .stdin_source = {.kind = STDIN_DESCRIPTOR, .fd = 7}};
    struct kept_snippet kept = {0};
    assert_int_equal(kept_snippet_make(&snippet, &kept), 0);
    assert_true(kept.snippet.stdin_source.kind == STDIN_DESCRIPTOR);
    assert_int_equal(kept.snippet.stdin_source.fd, 7);
    kept_snippet_release(&kept);
    assert_null(kept.texts);
    kept_snippet_release(&kept); /* of nothing */
}

static void its_size_counts_all_that_was_given(void **state)
{
    (void)state;
    struct original original;
    fill(&original);
    OWNED(kept_snippet_release) struct kept_snippet kept = {0};
    assert_int_equal(kept_snippet_make(&original.snippet, &kept), 0);
    assert_in_range(kept.size, 11 * 5, 11 * 6 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_stays_when_the_original_changes),
        cmocka_unit_test(what_is_not_there_is_not_there_in_the_copy),
        cmocka_unit_test(no_arguments_are_another_thing_than_none_given),
        cmocka_unit_test(bytes_may_be_any),
        cmocka_unit_test(a_descriptor_stays_the_callers),
        cmocka_unit_test(its_size_counts_all_that_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
