#include "mcp/http/run_answer.h"

#include "interpreter/base/bounds.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/result_json.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX (8 * KIBIBYTE)
#define TOLD_MAX 8 /* files that are not in the answer */
#define WORK_DIRECTORY "/work" /* in every tier, for those who ask */

static void write_run(struct json_writer *writer, const struct run_result *result)
{
    bool timed_out = result->outcome == OUTCOME_TIMED_OUT;
    json_key(writer, "run_result");
    if (result->outcome == OUTCOME_COMPILE_FAILED) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_text_member(writer, "status", timed_out ? "TimeLimitExceeded" : "Finished");
    json_key(writer, "execution_time");
    json_double(writer, (double)result->duration_ns / (double)1000000000);
    json_key(writer, "cpu_time");
    json_double(writer, (double)result->cpu_ns / (double)1000000000);
    json_key(writer, "return_code");
    if (timed_out)
        json_null(writer);
    else
        json_number(writer, result_json_exit_status(result));
    result_json_write_output(writer, result);
    json_end_object(writer);
}

static bool is_in_work(const char *name)
{
    return strncmp(name, WORK_DIRECTORY "/", strlen(WORK_DIRECTORY "/")) == 0;
}

static const struct run_file *find_file(const struct run_result *result, const char *name)
{
    if (is_in_work(name))
        name += strlen(WORK_DIRECTORY "/");
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    for (size_t i = 0; i < result->files.count; i++)
        if (strcmp(result->files.list[i].path, name) == 0)
            return &result->files.list[i];
    return NULL;
}

/* The bytes as base64. -ENOENT: there is no such file; -ENOBUFS: it is too large for what is left. */
static int encode(const struct run_result *result, const struct json_value *name, uint64_t *left,
                  struct buffer *text)
{
    const struct run_file *file =
        strlen(name->text) == name->length ? find_file(result, name->text) : NULL;
    if (file == NULL)
        return -ENOENT;
    if (file->size > *left)
        return -ENOBUFS;
    OWNED(buffer_release) struct buffer bytes = BUFFER(HTTP_FILES_MAX);
    int r = io_append(file->fd, file->size, &bytes);
    if (r == 0)
        r = base64_append(text, bytes.data, bytes.length);
    if (r == 0)
        *left -= bytes.length;
    return r;
}

static bool was_named(const struct json_value *wanted, const struct json_value *name)
{
    const struct json_value *earlier = wanted->first;
    while (earlier != name && !(earlier->length == name->length &&
                                memcmp(earlier->text, name->text, name->length) == 0))
        earlier = earlier->next;
    return earlier != name;
}

/* Why a file is not in the answer, and what to do about it. */
static int explain(int error, const struct json_value *name, struct buffer *message)
{
    const struct visible file = visible_name(name->text);
    bool is_elsewhere = name->text[0] == '/' && !is_in_work(name->text);
    switch (-error) {
    case ENOBUFS:
        return buffer_format(
            message, "the file %s is left out: the files of an answer have %llu MiB at most",
            file.text, (unsigned long long)(HTTP_FILES_MAX / MEBIBYTE));
    case ENOENT:
        if (is_elsewhere)
            return buffer_format(message,
                                 "only files below " WORK_DIRECTORY " are returned: write %s there",
                                 file.text);
        return buffer_format(
            message,
            "%s is not among the files that the snippet wrote or changed in " WORK_DIRECTORY,
            file.text);
    default:
        return buffer_format(message, "the file %s could not be read: %s", file.text,
                             strerror(-error));
    }
}

static void tell(int error, const struct json_value *name, struct buffer *message)
{
    int r = message->length > 0 ? buffer_append_text(message, "; ") : 0;
    if (r == 0)
        explain(error, name, message);
}

/* Those that the run has left. The message tells of the others. */
static void write_files(struct json_writer *writer, const struct run_result *result,
                        const struct json_value *wanted, struct buffer *message)
{
    uint64_t left = HTTP_FILES_MAX;
    size_t told = 0;
    size_t more = 0;
    json_key(writer, "files");
    json_begin_object(writer);
    const struct json_value *name = wanted != NULL ? wanted->first : NULL;
    for (; name != NULL; name = name->next) {
        OWNED(buffer_release) struct buffer text = BUFFER(2 * HTTP_FILES_MAX);
        if (was_named(wanted, name))
            continue;
        int r = encode(result, name, &left, &text);
        if (r == 0) {
            json_key(writer, name->text);
            json_string(writer, text.data, text.length);
        } else if (told < TOLD_MAX) {
            tell(r, name, message);
            told++;
        } else {
            more++;
        }
    }
    if (more > 0)
        buffer_format(message, "; and %zu more", more);
    json_end_object(writer);
}

/* Of a program that runs, what its compiler printed is in its report. */
static void write_compile(struct json_writer *writer, const struct run_result *result)
{
    const struct run_compile *compile = result != NULL ? result->compile : NULL;
    json_key(writer, "compile_result");
    if (compile == NULL) {
        json_null(writer);
        return;
    }
    bool timed_out = compile->outcome == OUTCOME_TIMED_OUT;
    bool has_ended = compile->outcome == OUTCOME_EXITED || compile->outcome == OUTCOME_SIGNALED;
    json_begin_object(writer);
    json_text_member(writer, "status",
                     timed_out   ? "TimeLimitExceeded"
                     : has_ended ? "Finished"
                                 : "Error");
    json_key(writer, "execution_time");
    json_double(writer, (double)compile->duration_ns / (double)1000000000);
    json_key(writer, "return_code");
    if (timed_out)
        json_null(writer);
    else
        json_number(writer, outcome_exit_status(compile->outcome) +
                                (compile->outcome == OUTCOME_EXITED ? compile->exit_code : 0) +
                                compile->signal);
    if (result->outcome == OUTCOME_COMPILE_FAILED) {
        result_json_write_output(writer, result);
    } else {
        const struct run_result printed = {.out = compile->out, .err = compile->err};
        result_json_write_output(writer, &printed);
    }
    json_end_object(writer);
}

static void begin(struct json_writer *writer, const char *status, const struct run_result *result)
{
    json_begin_object(writer);
    json_text_member(writer, "status", status);
    write_compile(writer, result);
    json_key(writer, "executor_pod_name");
    json_null(writer);
}

int run_answer_write(const struct run_result *result, const struct json_value *wanted,
                     struct buffer *text)
{
    OWNED(buffer_release) struct buffer message = BUFFER(MESSAGE_MAX);
    struct json_writer *writer = NULL;
    bool is_success = result_json_is_success(result);
    int r = is_success ? 0 : outcome_text_describe(result, &message);
    if (r == 0)
        r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    begin(writer, is_success ? "Success" : "Failed", result);
    write_run(writer, result);
    write_files(writer, result, wanted, &message);
    json_key(writer, "message");
    json_string(writer, message.length > 0 ? message.data : "", message.length);
    json_end_object(writer);
    return json_writer_close(writer);
}

int run_answer_write_tests(const struct test_run *tests, const struct check *check,
                           struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    begin(writer, tests->passed == tests->set.count ? "Success" : "Failed", &tests->first);
    json_key(writer, "run_result");
    json_null(writer);
    json_key(writer, "files");
    json_begin_object(writer);
    json_end_object(writer);
    json_text_member(writer, "message", "");
    test_run_write(writer, tests, check);
    json_end_object(writer);
    return json_writer_close(writer);
}

int run_answer_write_fault(const struct fault *fault, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    begin(writer, "SandboxError", NULL);
    json_key(writer, "run_result");
    json_null(writer);
    json_key(writer, "files");
    json_begin_object(writer);
    json_end_object(writer);
    json_text_member(writer, "message", fault->text);
    json_end_object(writer);
    return json_writer_close(writer);
}
