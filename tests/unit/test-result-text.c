#include "interpreter/base/bounds.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/result_json.h"
#include "interpreter/result/result_notes.h"
#include "interpreter/result/shown_output.h"
#include "interpreter/session_text.h"
#include "mcp/tools/result_text.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A result as the engine would make it; release with run_result_release(). */
static struct run_result result_of(const char *out, const char *err)
{
    struct run_result result = {
        .out = {.head = BUFFER(MEBIBYTE), .tail = BUFFER(MEBIBYTE), .total = strlen(out)},
        .err = {.head = BUFFER(MEBIBYTE), .tail = BUFFER(MEBIBYTE), .total = strlen(err)},
        .duration_ns = 1234567,
        .limits = {.wall_ms = 2500,
                   .memory_bytes = 512 * MEBIBYTE,
                   .millicpus = 1500,
                   .processes = 256,
                   .output_total = 3 * KIBIBYTE},
        .enforced = {ENFORCED_BY_POLLING, ENFORCED_BY_RLIMIT, ENFORCED_BY_POLLING},
        .isolation = "namespaces",
    };
    assert_int_equal(buffer_append_text(&result.out.head, out), 0);
    assert_int_equal(buffer_append_text(&result.err.head, err), 0);
    return result;
}

/* Writes the result of a call and reads it back. */
static struct json *write_result(const struct run_result *result, enum result_format format)
{
    OWNED(shown_output_release) struct shown_output shown = {0};
    OWNED(shown_output_release) struct shown_output raw = {0};
    assert_int_equal(shown_output_make(result, 7, READER_MODEL, &shown), 0);
    assert_int_equal(shown_output_make(result, 7, READER_PROGRAM, &raw), 0);
    const struct result_view view = {
        .result = result,
        .shown = &shown,
        .raw = &raw,
        .output_number = 7,
        .files = &(const struct result_files){.count = 0},
        .image = "python",
        .wall_max_ms = 60000,
        .silent_hint = "Print it.",
        .format = format,
    };
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
    struct json_writer *writer = NULL;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_begin_object(writer);
    result_text_write(writer, VERSION_2025_11_25, &view);
    json_key(writer, "_meta");
    json_begin_object(writer);
    result_text_write_meta(writer, &view);
    json_end_object(writer);
    json_end_object(writer);
    assert_int_equal(json_writer_close(writer), 0);
    struct json *json = NULL;
    assert_int_equal(json_parse(text.data, text.length, &json, NULL), 0);
    assert_false(json_member(json_root(json), "isError")->boolean);
    return json;
}

static const struct json_value *content_of(const struct json *json)
{
    return json_member(json_root(json), "content");
}

static const struct json_value *result_json_of(const struct json *json)
{
    return json_member(json_member(json_root(json), "_meta"), "code-sandbox/result");
}

static void assert_text(const struct json_value *block, const char *expected)
{
    assert_non_null(block);
    assert_true(json_is(json_member(block, "type"), "text"));
    assert_string_equal(json_member(block, "text")->text, expected);
}

static void success_is_stdout_without_blank_lines_around_it(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of(" \n\t\n  a\nb \t\r\n\v\f", "");
    OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
    assert_int_equal(content_of(json)->count, 1);
    assert_text(content_of(json)->first, "  a\nb");
    assert_null(json_member(json_root(json), "structuredContent"));
}

static void stderr_of_a_success_is_a_second_text(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("a\n", "careful\n");
    OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
    assert_int_equal(content_of(json)->count, 2);
    assert_text(content_of(json)->first->next, "careful");
}

static void silence_is_said_with_a_hint(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("\n", "");
    OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
    assert_int_equal(content_of(json)->count, 1);
    assert_text(content_of(json)->first,
                "The program ended with exit code 0 and printed nothing. Print it.");
}

static void failure_is_one_text_with_its_end(void **state)
{
    (void)state;
    static const struct {
        enum run_outcome outcome;
        int exit_code, signal;
        const char *out, *err, *text;
        int exit_status;
    } cases[] = {
        {OUTCOME_EXITED, 1, 0, "a\n", "b\n", "a\nb\nexit code: 1", 1},
        {OUTCOME_EXITED, 255, 0, "", "b", "b\nexit code: 255", 255},
        {OUTCOME_EXITED, 2, 0, "", "", "no output\nexit code: 2", 2},
        {OUTCOME_SIGNALED, -1, 11, "a", "", "a\nkilled by SIGSEGV", 139},
        {OUTCOME_TIMED_OUT, -1, 0, "a", "", "a\ntimed out after 2.5 s", 124},
        {OUTCOME_OUT_OF_MEMORY, -1, 0, "a", "", "a\nout of memory (limit 512 MiB)", 137},
        {OUTCOME_OUTPUT_LIMIT, -1, 0, "a", "", "a\nstopped, because it printed more than 3 KiB",
         153},
        {OUTCOME_CPU_LIMIT, -1, 0, "", "b",
         "b\nused more than 3.75 s of processor time (limit: 2.5 s of 1.5 processors)", 152},
        {OUTCOME_PROCESS_LIMIT, -1, 0, "a", "", "a\ntoo many processes (limit 256)", 137},
        {OUTCOME_CANCELLED, -1, 0, "a", "", "a\ncancelled", 143},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(run_result_release)
        struct run_result result = result_of(cases[i].out, cases[i].err);
        result.outcome = cases[i].outcome;
        result.exit_code = cases[i].exit_code;
        result.signal = cases[i].signal;
        OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
        assert_int_equal(content_of(json)->count, 1);
        assert_text(content_of(json)->first, cases[i].text);
        assert_int_equal(result_json_exit_status(&result), cases[i].exit_status);
        assert_false(result_json_is_success(&result));
    }
}

static void advice_follows_the_end_and_only_in_failures(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("a", "");
    result.limits_reached = REACHED_TIME;
    OWNED(json_release) struct json *success = write_result(&result, RESULT_TEXT);
    assert_text(content_of(success)->first, "a");
    result.outcome = OUTCOME_TIMED_OUT;
    OWNED(json_release) struct json *failure = write_result(&result, RESULT_TEXT);
    assert_text(
        content_of(failure)->first,
        "a\ntimed out after 2.5 s\nA larger timeout_seconds gives it more time: at most 60.");
}

/* Whatever there is to advise, in a session or not. */
static void every_end_says_first_how_it_ended(void **state)
{
    (void)state;
    const struct session_view session = {.handle = "s-k3f9x2", .kept = "variables and files"};
    for (unsigned i = 0; i < 2 * OUTCOME_COUNT; i++) {
        OWNED(run_result_release) struct run_result result = result_of("a", "");
        result.outcome = i / 2;
        result.exit_code = result.outcome == OUTCOME_EXITED ? 1 : -1;
        result.signal = result.outcome == OUTCOME_SIGNALED ? 9 : 0;
        result.limits_reached = (1U << LIMIT_COUNT) - 1;
        const struct result_view view = {
            .result = &result,
            .wall_max_ms = 60000,
            .hint = "Each call is a fresh process.\n",
            .session = i % 2 == 1 ? &session : NULL,
        };
        OWNED(buffer_release) struct buffer end = BUFFER(4096);
        OWNED(buffer_release) struct buffer text = BUFFER(4096);
        assert_int_equal(outcome_text_describe(&result, &end), 0);
        assert_int_equal(result_notes_compose_end(&view, &text), 0);
        const char *lines = buffer_string(&text);
        assert_int_equal(strncmp(lines, buffer_string(&end), end.length), 0);
        assert_int_equal(lines[end.length], view.session != NULL ? ';' : '\n');
        assert_string_equal(lines + text.length - strlen("\nEach call is a fresh process."),
                            "\nEach call is a fresh process.");
    }
}

static void the_record_is_always_there(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("ab", "c");
    result.outcome = OUTCOME_SIGNALED;
    result.exit_code = -1;
    result.signal = 9;
    result.peak_processes = 3;
    result.limits_reached = REACHED_TIME | REACHED_MEMORY | REACHED_DISK;
    OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    struct json_writer *writer = NULL;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_copy(writer, result_json_of(json));
    assert_int_equal(json_writer_close(writer), 0);
    assert_string_equal(
        buffer_string(&text),
        "{\"outcome\":\"signaled\",\"exit_code\":null,\"signal\":\"SIGKILL\",\"stdout_bytes\":2,"
        "\"stderr_bytes\":1,\"stdout_cut\":0,\"stderr_cut\":0,\"value_bytes\":null,\"duration_ms\":1.235,\"cpu_ms\":0,"
        "\"peak_memory_bytes\":null,\"peak_processes\":3,\"isolation\":\"namespaces\",\"tier\":\"F\","
        "\"start\":\"cold\",\"limits\":\"rlimit\",\"enforced\":{\"memory\":\"watched\",\"processes\":\"rlimit\","
        "\"cpu\":\"watched\"},\"limits_reached\":[\"time\",\"memory\",\"disk\"],"
        "\"image\":\"python\",\"files\":[],\"figures\":0,\"changes\":null,\"network\":null,"
        "\"session\":null,\"calls\":null,\"more_calls\":null,\"phase\":null,\"compile\":null,\"policy\":null}");
}

static void assert_json_failure(const struct json *json, int64_t exit_code, const char *out,
                                const char *err)
{
    const struct json_value *text = json_member(content_of(json)->first, "text");
    OWNED(json_release) struct json *failure = NULL;
    assert_int_equal(json_parse(text->text, text->length, &failure, NULL), 0);
    int64_t number = -1;
    assert_int_equal(json_integer(json_member(json_root(failure), "exit_code"), &number), 0);
    assert_int_equal(number, exit_code);
    assert_true(json_is(json_member(json_root(failure), "stdout"), out));
    assert_true(json_is(json_member(json_root(failure), "stderr"), err));
}

static void json_format_gives_an_object_for_a_failure(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("out\n", "err\n");
    result.exit_code = 3;
    OWNED(json_release) struct json *exited = write_result(&result, RESULT_JSON);
    assert_json_failure(exited, 3, "out", "err");
    result.outcome = OUTCOME_TIMED_OUT;
    OWNED(json_release) struct json *timed_out = write_result(&result, RESULT_JSON);
    assert_json_failure(timed_out, 124, "out", "err\ntimed out after 2.5 s");
    result.outcome = OUTCOME_EXITED;
    result.limits_reached = REACHED_OUTPUT;
    result.limits.output_kept = MEBIBYTE;
    OWNED(json_release) struct json *cut = write_result(&result, RESULT_JSON);
    assert_json_failure(cut, 3, "out",
                        "err\nOnly 1 MiB of stdout, and of stderr, are kept. Print less, or "
                        "only a summary.");
}

static void structured_format_has_the_members_of_its_schema(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("out\n", "");
    OWNED(json_release) struct json *json = write_result(&result, RESULT_STRUCTURED);
    const struct json_value *structured = json_member(json_root(json), "structuredContent");
    assert_true(json_is(json_member(structured, "stdout"), "out"));
    OWNED(buffer_release) struct buffer text = BUFFER(65536);
    struct json_writer *writer = NULL;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    result_json_write_schema(writer);
    assert_int_equal(json_writer_close(writer), 0);
    OWNED(json_release) struct json *schema = NULL;
    assert_int_equal(json_parse(text.data, text.length, &schema, NULL), 0);
    const struct json_value *name = json_member(json_root(schema), "required")->first;
    assert_non_null(name);
    const struct json_value *reached =
        json_member(json_member(json_root(schema), "properties"), "limits_reached");
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        assert_non_null(strstr(json_member(reached, "description")->text,
                               outcome_limit_name((enum limit_index)i)));
    for (; name != NULL; name = name->next)
        assert_non_null(json_member(structured, name->text));
}

#define BAR "\r 50%|#  |\r100%|## |\n"

static void a_model_reads_what_a_terminal_shows(void **state)
{
    (void)state;
    static const struct {
        const char *out, *err, *texts[3];
    } cases[] = {
        {"a\n",
         BAR,
         {"a", "100%|## |",
          "Left out: redraws and terminal codes of stderr "
          "(raw: sandbox://output/7/stderr)"}},
        {"\x1b[1;31mred\x1b[m\n",
         "",
         {"red", "Left out: redraws and terminal codes of stdout "
                 "(raw: sandbox://output/7/stdout)"}},
        {BAR,
         "\x1b[33mwarning\x1b[m\n",
         {"100%|## |", "warning",
          "Left out: redraws and terminal "
          "codes of stdout (raw: sandbox://output/7/stdout), stderr (raw: sandbox://output/7/stderr)"}},
        {"\x1b[?25l\x1b[?25h",
         "",
         {"The program ended with exit code 0 and printed nothing. Print it.",
          "Left out: redraws and terminal codes of stdout (raw: sandbox://output/7/stdout)"}},
        {"a\r\nb\r\n", "", {"a\r\nb"}},
        {"tab\tnul bell\a", "", {"tab\tnul bell\a"}},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(run_result_release) struct run_result result = result_of(cases[i].out, cases[i].err);
        OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
        const struct json_value *block = content_of(json)->first;
        for (size_t k = 0; k < 3 && cases[i].texts[k] != NULL; k++, block = block->next)
            assert_text(block, cases[i].texts[k]);
        assert_null(block);
        bool is_raw = strncmp(cases[i].out, "a", 1) == 0 || strncmp(cases[i].out, "t", 1) == 0;
        assert_int_equal(json_member(result_json_of(json), "stdout_resource") == NULL, is_raw);
    }
}

static void a_program_reads_what_was_written(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("\x1b[1mout\x1b[m\n", BAR);
    OWNED(json_release) struct json *success = write_result(&result, RESULT_STRUCTURED);
    const struct json_value *structured = json_member(json_root(success), "structuredContent");
    assert_true(json_is(json_member(structured, "stdout"), "\x1b[1mout\x1b[m"));
    assert_true(json_is(json_member(structured, "stderr"), "\r 50%|#  |\r100%|## |"));
    assert_text(content_of(success)->first, "out");
    assert_int_equal(content_of(success)->count, 3);
    result.exit_code = 3;
    OWNED(json_release) struct json *failure = write_result(&result, RESULT_JSON);
    assert_json_failure(failure, 3, "\x1b[1mout\x1b[m", "\r 50%|#  |\r100%|## |");
    assert_int_equal(content_of(failure)->count, 1);
}

/* A long progress bar leaves the room to what it hides otherwise. */
static void the_last_state_of_a_long_bar_is_short(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("", "first\n");
    for (size_t i = 0; i < 5000; i++)
        buffer_format(&result.err.head, "\r%zu of 5000", i + 1);
    buffer_append_text(&result.err.head, "\nlast\n");
    result.err.total = result.err.head.length;
    OWNED(shown_output_release) struct shown_output shown = {0};
    assert_int_equal(shown_output_make(&result, 0, READER_MODEL, &shown), 0);
    assert_string_equal(buffer_string(&shown.err.text), "first\n5000 of 5000\nlast");
    assert_int_equal(shown.err.cut, 0);
    assert_true(shown_output_is_partial(&shown));
}

/* Fills a stream as the engine does when a program printed more than is kept. */
static void fill(struct capture *capture, const char *pattern, size_t head, size_t cut, size_t tail)
{
    size_t length = strlen(pattern);
    for (size_t i = 0; i < head; i++)
        buffer_append(&capture->head, pattern + i % length, 1);
    for (size_t i = 0; i < tail; i++)
        buffer_append(&capture->tail, pattern + (head + cut + i) % length, 1);
    capture->cut = cut;
    capture->total = head + cut + tail;
}

static void a_long_stream_keeps_head_and_tail(void **state)
{
    (void)state;
    static const struct {
        size_t head, cut, tail;
    } cases[] = {{SHOWN_MAX + 1, 0, 0}, {1000000, 0, 0}, {1000000, 5, 16384}, {100, 5, 100}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(run_result_release) struct run_result result = result_of("", "");
        fill(&result.out, "0123456789", cases[i].head, cases[i].cut, cases[i].tail);
        OWNED(shown_output_release) struct shown_output shown = {0};
        assert_int_equal(shown_output_make(&result, 0, READER_MODEL, &shown), 0);
        char note[64];
        int length = snprintf(note, sizeof(note), "\n[... %llu bytes not shown ...]\n",
                              (unsigned long long)shown.out.cut);
        size_t bytes = shown.out.text.length - (size_t)length;
        assert_int_equal(bytes + shown.out.cut, result.out.total);
        assert_true(bytes <= SHOWN_MAX);
        assert_true(shown.out.cut > 0);
        assert_memory_equal(shown.out.text.data, "0123456789", 10);
        char last = (char)('0' + (result.out.total - 1) % 10);
        assert_int_equal(shown.out.text.data[shown.out.text.length - 1], last);
        assert_non_null(strstr(buffer_string(&shown.out.text), note));
    }
}

static void no_character_is_cut_in_two(void **state)
{
    (void)state;
    static const char *const patterns[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
        for (size_t shift = 0; shift < 4; shift++) {
            OWNED(run_result_release) struct run_result result = result_of("", "");
            buffer_append(&result.out.head, "xxxx", shift);
            size_t length = strlen(patterns[i]);
            for (size_t j = 0; j < 3 * SHOWN_MAX / length; j++)
                buffer_append(&result.out.head, patterns[i], length);
            result.out.total = result.out.head.length;
            OWNED(json_release) struct json *json = write_result(&result, RESULT_TEXT);
            const struct json_value *text = json_member(content_of(json)->first, "text");
            assert_null(strstr(text->text, "\xef\xbf\xbd"));
            assert_non_null(strstr(text->text, "bytes not shown"));
        }
    }
}

static void bytes_that_are_all_continuations_are_shown_all_the_same(void **state)
{
    (void)state;
    OWNED(run_result_release) struct run_result result = result_of("", "");
    fill(&result.out, "\x80", 100000, 0, 0);
    OWNED(shown_output_release) struct shown_output shown = {0};
    assert_int_equal(shown_output_make(&result, 0, READER_MODEL, &shown), 0);
    assert_true(shown.out.cut >= 100000 - SHOWN_MAX && shown.out.cut < 100000 - SHOWN_MAX + 16);
}

static void a_short_stream_leaves_its_room_to_the_other(void **state)
{
    (void)state;
    static const struct {
        size_t out, err;
        bool out_whole, err_whole;
    } cases[] = {{31000, 1000, true, true},    {1000, 31000, true, true},
                 {32768, 100, false, true},    {100, 32768, true, false},
                 {20000, 20000, false, false}, {16384, 16384, true, true},
                 {90000, 90000, false, false}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(run_result_release) struct run_result result = result_of("", "");
        fill(&result.out, "o", cases[i].out, 0, 0);
        fill(&result.err, "e", cases[i].err, 0, 0);
        OWNED(shown_output_release) struct shown_output shown = {0};
        assert_int_equal(shown_output_make(&result, 0, READER_MODEL, &shown), 0);
        assert_int_equal(shown.out.cut == 0, cases[i].out_whole);
        assert_int_equal(shown.err.cut == 0, cases[i].err_whole);
        assert_true(cases[i].out - shown.out.cut + cases[i].err - shown.err.cut <= SHOWN_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_stdout_without_blank_lines_around_it),
        cmocka_unit_test(stderr_of_a_success_is_a_second_text),
        cmocka_unit_test(silence_is_said_with_a_hint),
        cmocka_unit_test(failure_is_one_text_with_its_end),
        cmocka_unit_test(advice_follows_the_end_and_only_in_failures),
        cmocka_unit_test(every_end_says_first_how_it_ended),
        cmocka_unit_test(the_record_is_always_there),
        cmocka_unit_test(json_format_gives_an_object_for_a_failure),
        cmocka_unit_test(structured_format_has_the_members_of_its_schema),
        cmocka_unit_test(a_model_reads_what_a_terminal_shows),
        cmocka_unit_test(a_program_reads_what_was_written),
        cmocka_unit_test(the_last_state_of_a_long_bar_is_short),
        cmocka_unit_test(a_long_stream_keeps_head_and_tail),
        cmocka_unit_test(no_character_is_cut_in_two),
        cmocka_unit_test(bytes_that_are_all_continuations_are_shown_all_the_same),
        cmocka_unit_test(a_short_stream_leaves_its_room_to_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
