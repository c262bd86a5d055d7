/*
 * The body of a POST to /run_code: any bytes. There is a snippet exactly when the fields are as the manual
 * has them, with that code, stdin and files, and with limits that are no higher than those of the settings;
 * otherwise there is a sentence. The answer is JSON: with the named files that the run has left, or with
 * the sentence.
 */
#include "interpreter/base/bounds.h"
#include "mcp/http/run_answer.h"
#include "mcp/http/run_request.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input-check.h"

#include <math.h>
#include <string.h>

#define WALL_MAX_MS 60000
#define MEMORY (256 * MEBIBYTE)
#define KEPT KIBIBYTE

/* NULL also for null. */
static const struct json_value *given(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    return value == NULL || value->type == JSON_NULL ? NULL : value;
}

/* The name of the program; NULL: there is no such language. */
static const char *program_of(const struct json_value *object)
{
    const struct json_value *language = given(object, "language");
    return json_is(language, "python")                                      ? "main.py"
           : json_is(language, "nodejs") || json_is(language, "javascript") ? "main.js"
           : json_is(language, "bash")                                      ? "main.sh"
                                                                            : NULL;
}

static bool is_absent_or(const struct json_value *object, const char *name, enum json_type type)
{
    const struct json_value *value = given(object, name);
    return value == NULL || value->type == type;
}

static bool is_file(const struct json_value *file, const char *program, struct buffer *bytes)
{
    size_t wrong;
    return file->type == JSON_STRING && input_check_name(file->key, file->key_length, program) &&
           base64_decode(bytes, file->text, file->length, &wrong) == 0;
}

static bool are_files(const struct json_value *files, const char *program)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(LINE_IN_MAX);
    if (files->count > INPUT_FILES_MAX)
        return false;
    for (const struct json_value *file = files->first; file != NULL; file = file->next) {
        if (file->type == JSON_NULL)
            continue;
        if (!is_file(file, program, &bytes))
            return false;
        for (const struct json_value *other = files->first; other != file; other = other->next)
            if (other->type != JSON_NULL && input_check_collide(file->key, other->key))
                return false;
    }
    return bytes.length <= INPUT_BYTES_MAX;
}

static bool are_names(const struct json_value *wanted)
{
    const struct json_value *name = wanted->first;
    while (name != NULL && name->type == JSON_STRING)
        name = name->next;
    return name == NULL && wanted->count <= HTTP_FILES_NAMED_MAX;
}

static bool is_allowed(const struct json_value *object)
{
    const struct json_value *timeout = given(object, "run_timeout");
    const struct json_value *files = given(object, "files");
    const struct json_value *wanted = given(object, "fetch_files");
    return object->type == JSON_OBJECT && program_of(object) != NULL &&
           given(object, "code") != NULL && is_absent_or(object, "code", JSON_STRING) &&
           is_absent_or(object, "stdin", JSON_STRING) &&
           is_absent_or(object, "run_timeout", JSON_NUMBER) &&
           (timeout == NULL || strtod(timeout->text, NULL) > 0) &&
           is_absent_or(object, "memory_limit_MB", JSON_NUMBER) &&
           is_absent_or(object, "files", JSON_OBJECT) &&
           (files == NULL || are_files(files, program_of(object))) &&
           is_absent_or(object, "fetch_files", JSON_ARRAY) && (wanted == NULL || are_names(wanted));
}

static void check_limits(const struct snippet *snippet, const struct json_value *object)
{
    const struct json_value *timeout = given(object, "run_timeout");
    const struct json_value *memory = given(object, "memory_limit_MB");
    double milliseconds = timeout != NULL ? strtod(timeout->text, NULL) * 1000 : 0;
    double bytes = memory != NULL ? strtod(memory->text, NULL) * (double)MEBIBYTE : 0;
    FUZZ_CHECK((snippet->wall_ms == 0) == (timeout == NULL));
    FUZZ_CHECK(snippet->wall_ms >= 0 && snippet->wall_ms <= WALL_MAX_MS);
    FUZZ_CHECK(fabs((double)snippet->wall_ms - fmin(milliseconds, WALL_MAX_MS)) <= 1);
    if (!(bytes > 0 && bytes < (double)MEMORY))
        FUZZ_CHECK(snippet->memory_bytes == 0);
    else
        FUZZ_CHECK(snippet->memory_bytes <= MEMORY &&
                   fabs((double)snippet->memory_bytes - fmax(bytes, RUN_MEMORY_MIN)) <= 1);
}

static void check_files(const struct snippet *snippet, const struct json_value *files)
{
    const struct json_value *file = files != NULL ? files->first : NULL;
    size_t count = 0;
    for (; file != NULL; file = file->next) {
        OWNED(buffer_release) struct buffer text = BUFFER(LINE_IN_MAX);
        if (file->type == JSON_NULL)
            continue;
        FUZZ_CHECK(count < snippet->input_count);
        const struct run_input *input = &snippet->inputs[count++];
        FUZZ_CHECK(strcmp(input->name, file->key) == 0);
        FUZZ_CHECK(base64_append(&text, input->bytes, input->length) == 0);
        FUZZ_CHECK(text.length == file->length &&
                   (text.length == 0 || memcmp(text.data, file->text, text.length) == 0));
    }
    FUZZ_CHECK(count == snippet->input_count);
}

static void check_snippet(const struct snippet *snippet, const struct json_value *object)
{
    const char *program = program_of(object);
    const struct json_value *code = given(object, "code");
    const struct json_value *text = given(object, "stdin");
    const struct run_stdin *source = &snippet->stdin_source;
    FUZZ_CHECK(program != NULL && strcmp(snippet->language->code_name, program) == 0);
    FUZZ_CHECK(code != NULL && snippet->length == code->length &&
               memcmp(snippet->code, code->text, code->length + 1) == 0);
    FUZZ_CHECK((source->kind == STDIN_EMPTY) == (text == NULL));
    FUZZ_CHECK(text == NULL || (source->length == text->length &&
                                memcmp(source->bytes, text->text, text->length) == 0));
    check_limits(snippet, object);
    check_files(snippet, given(object, "files"));
}

/* A run that has left its input files, each with these bytes. */
static struct run_result make_result(const struct snippet *snippet, const uint8_t *data,
                                     size_t size)
{
    struct run_result result = {
        .outcome = snippet->length % OUTCOME_COUNT,
        .exit_code = snippet->length % OUTCOME_COUNT == OUTCOME_EXITED ? 0 : -1,
        .limits.output_kept = KEPT,
    };
    capture_open(&result.out, KEPT);
    capture_open(&result.err, KEPT);
    FUZZ_CHECK(capture_add(&result.out, snippet->code, snippet->length) == 0);
    for (size_t i = 0; i < snippet->input_count && i < RUN_FILES_MAX; i++)
        result.files.list[result.files.count++] = (struct run_file){
            .path = (char *)snippet->inputs[i].name, .fd = fuzz_file(data, size), .size = size};
    return result;
}

static bool has_left(const struct run_result *result, const struct json_value *name)
{
    const char *path = name->text;
    if (strncmp(path, "/work/", 6) == 0)
        path += 6;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    size_t i = 0;
    while (i < result->files.count && strcmp(result->files.list[i].path, path) != 0)
        i++;
    return i < result->files.count && strlen(name->text) == name->length;
}

static bool has_all(const struct run_result *result, const struct json_value *wanted)
{
    const struct json_value *name = wanted != NULL ? wanted->first : NULL;
    while (name != NULL && has_left(result, name))
        name = name->next;
    return name == NULL;
}

/* Each file once, and whole. */
static void check_answered_files(const struct run_result *result, const struct json_value *wanted,
                                 const struct json_value *answered, const struct buffer *text)
{
    size_t found = 0;
    const struct json_value *name = wanted != NULL ? wanted->first : NULL;
    for (; name != NULL; name = name->next) {
        const struct json_value *file = json_member(answered, name->text);
        FUZZ_CHECK(!has_left(result, name) ||
                   (file != NULL && file->length == text->length &&
                    (text->length == 0 || memcmp(file->text, text->data, text->length) == 0)));
    }
    for (const struct json_value *file = answered->first; file != NULL; file = file->next) {
        name = wanted != NULL ? wanted->first : NULL;
        while (name != NULL && !(has_left(result, name) && json_key_is(file, name->text)))
            name = name->next;
        FUZZ_CHECK(name != NULL && json_member(answered, name->text) == file);
        found++;
    }
    FUZZ_CHECK(found == answered->count);
}

static void check_answer(const struct run_request *request, const uint8_t *data, size_t size)
{
    OWNED(buffer_release) struct buffer answer = BUFFER(RUN_ANSWER_MAX(KEPT));
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_IN_MAX);
    struct run_result result = make_result(&request->snippet, data, size);
    FUZZ_CHECK(run_answer_write(&result, request->wanted, &answer) == 0);
    FUZZ_CHECK(base64_append(&text, (const char *)data, size) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&answer);
    const struct json_value *root = json_root(json);
    const struct json_value *run = json_member(root, "run_result");
    bool is_success = result.outcome == OUTCOME_EXITED;
    bool timed_out = result.outcome == OUTCOME_TIMED_OUT;
    FUZZ_CHECK(json_is(json_member(root, "status"), is_success ? "Success" : "Failed"));
    bool is_told = !is_success || !has_all(&result, request->wanted);
    FUZZ_CHECK(json_is(json_member(root, "message"), "") != is_told);
    bool has_run = result.outcome != OUTCOME_COMPILE_FAILED;
    FUZZ_CHECK((run->type != JSON_NULL) == has_run);
    FUZZ_CHECK(!has_run ||
               json_is(json_member(run, "status"), timed_out ? "TimeLimitExceeded" : "Finished"));
    FUZZ_CHECK((given(run, "return_code") == NULL) == (timed_out || !has_run));
    check_answered_files(&result, request->wanted, json_member(root, "files"), &text);
    capture_release(&result.out);
    capture_release(&result.err);
}

static void check_refusal(const struct fault *fault)
{
    OWNED(buffer_release) struct buffer answer = BUFFER(8 * FAULT_TEXT_MAX);
    FUZZ_CHECK(run_answer_write_fault(fault, &answer) == 0);
    OWNED(json_release) struct json *json = fuzz_parse(&answer);
    FUZZ_CHECK(json_is(json_member(json_root(json), "status"), "SandboxError"));
    FUZZ_CHECK(json_is(json_member(json_root(json), "message"), fault->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(settings_release) struct settings settings = settings_default();
    settings.wall_max_ms = WALL_MAX_MS;
    settings.limits.memory_bytes = MEMORY;
    OWNED(run_request_release) struct run_request request;
    const struct buffer body = {.data = (char *)data, .length = size};
    struct fault fault = {0};
    int r = run_request_read(&request, &settings, &body, &fault);
    fuzz_check_fault(r, &fault);
    fuzz_check_plain(fault.text, true);
    const struct json_value *root = request.json != NULL ? json_root(request.json) : NULL;
    FUZZ_CHECK((r == 0) == (root != NULL && is_allowed(root)));
    if (r < 0) {
        check_refusal(&fault);
    } else {
        check_snippet(&request.snippet, root);
        check_answer(&request, data, size);
    }
    return root != NULL ? 0 : -1;
}
