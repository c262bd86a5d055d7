/*
 * Any bytes as the output of a run, in pieces of any size, with any end: the answer is valid JSON of
 * a bounded length; what is shown and what is said to be cut add up; and success is told from
 * failure. The bytes: limits, outcome, sizes, then the two streams.
 */
#include "interpreter/base/bounds.h"
#include "interpreter/result/hints.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/result_json.h"
#include "interpreter/result/shown_output.h"
#include "mcp/tools/result_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/capture.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define WALL_MAX_MS 60000

/* One stream of the input, written some times over, so that the caps are reached. */
static uint64_t fill(struct capture *capture, struct fuzz_input *input, size_t length, size_t times)
{
    size_t piece = 1 + fuzz_byte(input) * 16U;
    length = length < input->size ? length : input->size;
    for (size_t i = 0; i < times; i++) {
        for (size_t at = 0; at < length; at += piece) {
            size_t left = length - at;
            FUZZ_CHECK(capture_add(capture, (const char *)input->data + at,
                                   left < piece ? left : piece) == 0);
        }
    }
    input->data += length;
    input->size -= length;
    return (uint64_t)length * times;
}

static void check_capture(const struct capture *capture, uint64_t written, uint64_t kept)
{
    FUZZ_CHECK(capture->total == written);
    FUZZ_CHECK(capture->head.length + capture->tail.length + capture->cut == written);
    uint64_t end = kept / 4 < RUN_OUTPUT_TAIL ? kept / 4 : RUN_OUTPUT_TAIL;
    FUZZ_CHECK(capture->head.length <= kept - end && capture->tail.length <= 2 * end);
    FUZZ_CHECK(written > kept || capture->cut == 0);
    FUZZ_CHECK(capture->cut == 0 || capture->tail.length >= end);
}

static struct run_result read_result(struct fuzz_input *input)
{
    struct run_result result = {
        .outcome = fuzz_byte(input) % OUTCOME_COUNT,
        .duration_ns = (int64_t)fuzz_number(input) & INT64_MAX >> 1,
        .cpu_ns = (int64_t)fuzz_number(input) & INT64_MAX >> 1,
        .peak_memory_bytes = (int64_t)fuzz_number(input) & INT64_MAX,
        .peak_processes = (int64_t)fuzz_number(input) & INT64_MAX,
        .limits_reached = fuzz_byte(input),
        .isolation = "none",
    };
    result.exit_code = result.outcome == OUTCOME_EXITED ? fuzz_byte(input) : -1;
    result.signal = result.outcome == OUTCOME_SIGNALED ? fuzz_byte(input) % 128 : 0;
    result.limits.wall_ms = 1 + (int64_t)(fuzz_number(input) % RUN_WALL_MAX_MS);
    result.limits.memory_bytes = fuzz_number(input) % RUN_MEMORY_MAX;
    result.limits.millicpus = fuzz_byte(input) * 100U;
    result.limits.output_total = fuzz_number(input);
    result.limits.output_kept = RUN_OUTPUT_KEPT_MIN + fuzz_byte(input) * 512U;
    return result;
}

static void check_shown(const struct shown_stream *shown, const struct capture *capture)
{
    FUZZ_CHECK(shown->cut >= capture->cut);
    FUZZ_CHECK(shown->is_drawn || shown->cut <= capture->total);
    FUZZ_CHECK(shown->text.length <= SHOWN_MAX + 64); /* and the line that tells of the cut */
}

static void check_text(const struct shown_output *text, const struct run_result *result)
{
    check_shown(&text->out, &result->out);
    check_shown(&text->err, &result->err);
    FUZZ_CHECK(text->out.text.length + text->err.text.length <= SHOWN_MAX + 128);
}

/* However much was printed, the last lines of a failure say how it ended, and then what to do about it. */
static void check_ending(const struct run_result *result, const struct json_value *text)
{
    OWNED(buffer_release) struct buffer ending = BUFFER(4096);
    const struct outcome_text_reader model = {.is_model = true, .wall_max_ms = WALL_MAX_MS};
    FUZZ_CHECK(outcome_text_describe(result, &ending) == 0);
    FUZZ_CHECK(buffer_append(&ending, "\n", 1) == 0);
    FUZZ_CHECK(outcome_text_advise(result, &model, &ending) == 0);
    ending.length--;
    FUZZ_CHECK(ending.length <= text->length);
    const char *end = text->text + text->length;
    FUZZ_CHECK(memcmp(end - ending.length, ending.data, ending.length) == 0);
}

static void check_answer(const struct run_result *result, const struct shown_output *shown,
                         const struct shown_output *raw, enum result_format format)
{
    const struct result_view view = {
        .result = result,
        .shown = shown,
        .raw = raw,
        .files = &(const struct result_files){.count = 0},
        .image = "image",
        .wall_max_ms = WALL_MAX_MS,
        .silent_hint = "Print it.",
        .format = format,
    };
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
    struct json_writer *writer = NULL;
    FUZZ_CHECK(json_writer_open(&text, &writer) == 0);
    json_begin_object(writer);
    result_text_write(writer, VERSION_2025_11_25, &view);
    json_key(writer, "_meta");
    json_begin_object(writer);
    result_text_write_meta(writer, &view);
    json_end_object(writer);
    json_end_object(writer);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    const struct json_value *root = json_root(json);
    const struct json_value *content = json_member(root, "content");
    bool has_err = shown->err.text.length > 0;
    bool is_failure = !result_json_is_success(result);
    bool has_note =
        (shown->out.is_drawn || shown->err.is_drawn) && !(is_failure && format == RESULT_JSON);
    FUZZ_CHECK(content->count == 1U + (!is_failure && has_err) + has_note);
    for (const struct json_value *block = content->first; block != NULL; block = block->next)
        FUZZ_CHECK(json_member(block, "text")->length > 0);
    if (is_failure && format != RESULT_JSON)
        check_ending(result, json_member(content->first, "text"));
    FUZZ_CHECK(!json_member(root, "isError")->boolean);
    const struct json_value *record =
        json_member(json_member(root, "_meta"), "code-sandbox/result");
    FUZZ_CHECK(json_is(json_member(record, "outcome"), outcome_name(result->outcome)));
    FUZZ_CHECK((json_member(root, "structuredContent") != NULL) == (format == RESULT_STRUCTURED));
}

/* What a program writes to stderr can bring nothing into a hint but a plain name, once or twice. */
static void check_hints(const struct run_result *result)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-@/";
    static const struct hint_image image = {.name = "image", .summary = "A 1, B 2"};
    for (size_t place = 0; place < LANGUAGE_COUNT; place++) {
        OWNED(buffer_release) struct buffer text = BUFFER(1024);
        struct hint hint = hint_find(languages[place], result);
        FUZZ_CHECK(hint_write(&hint, &image, &text) == 0);
        FUZZ_CHECK((hint.kind == HINT_NONE) == (text.length == 0));
        FUZZ_CHECK(hint.kind == HINT_NONE ||
                   (text.data[text.length - 1] == '\n' && result->outcome == OUTCOME_EXITED));
        FUZZ_CHECK(strspn(hint.name, allowed) == strlen(hint.name));
        FUZZ_CHECK(hint.options == NULL || hint.npm == NULL);
        FUZZ_CHECK(hint.npm == NULL || strspn(hint.npm, allowed) == strlen(hint.npm));
    }
}

/* One in so many inputs, however libFuzzer likes what comes of it: what is long is slow. */
static bool is_chosen(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += data[i];
    return sum % 64 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED(run_result_release) struct run_result result = read_result(&input);
    capture_open(&result.out, result.limits.output_kept);
    capture_open(&result.err, result.limits.output_kept);
    size_t out_share = input.size * fuzz_byte(&input) / 255;
    size_t times = is_chosen(data, size) ? 64 : 1;
    size_t out_times = fuzz_byte(&input) < 128 ? 1 : times;
    size_t err_times = fuzz_byte(&input) < 128 ? 1 : times;
    enum result_format format = fuzz_byte(&input) % 3;
    uint64_t out = fill(&result.out, &input, out_share, out_times);
    uint64_t err = fill(&result.err, &input, input.size, err_times);
    check_capture(&result.out, out, result.limits.output_kept);
    check_capture(&result.err, err, result.limits.output_kept);
    check_hints(&result);
    OWNED(shown_output_release) struct shown_output shown = {0};
    OWNED(shown_output_release) struct shown_output raw = {0};
    FUZZ_CHECK(shown_output_make(&result, 0, READER_MODEL, &shown) == 0);
    FUZZ_CHECK(shown_output_make(&result, 0, READER_PROGRAM, &raw) == 0);
    check_text(&shown, &result);
    check_text(&raw, &result);
    FUZZ_CHECK(!raw.out.is_drawn && !raw.err.is_drawn);
    check_answer(&result, &shown, &raw, format);
    return 0;
}
