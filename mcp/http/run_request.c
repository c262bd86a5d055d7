#include "mcp/http/run_request.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/run_inputs.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NAMES_MAX 1024 /* of languages, in a sentence */

/* NULL also for null. */
static const struct json_value *member_of(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    return value == NULL || value->type == JSON_NULL ? NULL : value;
}

/* Calls a language by its name alone, unless it has names here. */
static bool is_called(const struct language *language, const struct json_value *name)
{
    const char *const own[] = {language->name, NULL};
    const char *const *known = language->http_names != NULL ? language->http_names : own;
    while (*known != NULL && !json_is(name, *known))
        known++;
    return *known != NULL;
}

/* "\"python\", \"nodejs\" (or \"javascript\") or \"bash\"". NULL: no memory. */
static const char *list_names(struct buffer *text)
{
    for (size_t i = 0; i < language_count && languages[i] != NULL; i++) {
        const char *const *names = languages[i]->http_names;
        buffer_format(text, "%s\"%s\"",
                      i == 0                   ? ""
                      : i + 1 < language_count ? ", "
                                               : " or ",
                      names != NULL ? names[0] : languages[i]->name);
        for (size_t k = 1; names != NULL && names[k] != NULL; k++)
            buffer_format(text, "%s\"%s\"%s", k == 1 ? " (or " : ", ", names[k],
                          names[k + 1] == NULL ? ")" : "");
    }
    return buffer_string(text);
}

static int read_language(struct run_request *request, const struct json_value *object,
                         struct fault *fault)
{
    const struct json_value *name = member_of(object, "language");
    OWNED(buffer_release) struct buffer names = BUFFER(NAMES_MAX);
    for (size_t i = 0; i < language_count; i++)
        if (is_called(languages[i], name))
            request->snippet.language = languages[i];
    if (request->snippet.language != NULL)
        return 0;
    const char *known = list_names(&names);
    bool is_text = name != NULL && name->type == JSON_STRING;
    return fault_set(fault, EINVAL, "\"language\" must be %s%s%s",
                     known != NULL ? known : "another one", is_text ? ", not " : "",
                     is_text ? visible_name(name->text).text : "");
}

static int read_text(const struct json_value *object, const char *name,
                     const struct json_value **ret_text, struct fault *fault)
{
    *ret_text = member_of(object, name);
    if (*ret_text == NULL || (*ret_text)->type == JSON_STRING)
        return 0;
    return fault_set(fault, EINVAL, "\"%s\" must be a string", name);
}

static int read_program(struct run_request *request, const struct json_value *object,
                        struct fault *fault)
{
    const struct json_value *code = NULL, *input = NULL;
    int r = read_text(object, "code", &code, fault);
    if (r == 0)
        r = read_text(object, "stdin", &input, fault);
    if (r < 0)
        return r;
    if (code == NULL)
        return fault_set(fault, EINVAL, "\"code\" is missing: the program to run");
    request->snippet.code = code->text;
    request->snippet.length = code->length;
    if (input != NULL)
        request->snippet.stdin_source =
            (struct run_stdin){.kind = STDIN_BYTES, .bytes = input->text, .length = input->length};
    return 0;
}

/* NAN: it is not there. */
static int read_number(const struct json_value *object, const char *name, double *ret_number,
                       struct fault *fault)
{
    const struct json_value *value = member_of(object, name);
    *ret_number = NAN;
    if (value == NULL)
        return 0;
    if (value->type != JSON_NUMBER)
        return fault_set(fault, EINVAL, "\"%s\" must be a number", name);
    *ret_number = strtod(value->text, NULL);
    return 0;
}

/* A memory limit of 0 or less is none, as in SandboxFusion. */
static int read_limits(struct run_request *request, const struct settings *settings,
                       const struct json_value *object, struct fault *fault)
{
    double seconds = NAN, compile_seconds = NAN, megabytes = NAN;
    int r = read_number(object, "run_timeout", &seconds, fault);
    if (r == 0)
        r = read_number(object, "compile_timeout", &compile_seconds, fault);
    if (r == 0)
        r = read_number(object, "memory_limit_MB", &megabytes, fault);
    if (r < 0)
        return r;
    if (!isnan(seconds) && !(seconds > 0))
        return fault_set(fault, EINVAL, "\"run_timeout\" must be more than 0 seconds");
    if (seconds * 1000 < (double)settings->wall_max_ms)
        request->snippet.wall_ms = (int64_t)ceil(seconds * 1000);
    else if (!isnan(seconds))
        request->snippet.wall_ms = settings->wall_max_ms;
    if (!isnan(compile_seconds) && !(compile_seconds > 0))
        return fault_set(fault, EINVAL, "\"compile_timeout\" must be more than 0 seconds");
    if (!isnan(compile_seconds))
        request->snippet.compile_ms = compile_seconds < LANGUAGE_COMPILE_SECONDS_MAX
                                          ? (int64_t)ceil(compile_seconds * 1000)
                                          : LANGUAGE_COMPILE_SECONDS_MAX * INT64_C(1000);
    double bytes = megabytes * (double)MEBIBYTE;
    if (bytes > 0 && bytes < (double)settings->limits.memory_bytes)
        request->snippet.memory_bytes =
            bytes > (double)RUN_MEMORY_MIN ? (uint64_t)bytes : RUN_MEMORY_MIN;
    return 0;
}

static int decode_file(struct run_request *request, const struct json_value *member,
                       struct fault *fault)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(INPUT_BYTES_MAX);
    struct run_input *file = &request->files[request->file_count];
    size_t wrong = 0;
    if (strlen(member->key) != member->key_length)
        return fault_set(fault, EINVAL, "the name of a file has a NUL in it");
    if (member->type != JSON_STRING)
        return fault_set(fault, EINVAL, "the content of \"%s\" must be a string, in base64",
                         visible_name(member->key).text);
    int r = base64_decode(&bytes, member->text, member->length, &wrong);
    if (r == -EINVAL)
        return fault_set(fault, EINVAL, "the base64 of \"%s\" is wrong at character %zu",
                         visible_name(member->key).text, wrong + 1);
    if (r == -ENOBUFS)
        return fault_set(fault, E2BIG, "the files are longer than %llu MiB, the maximum",
                         (unsigned long long)(INPUT_BYTES_MAX / MEBIBYTE));
    if (r < 0)
        return fault_set(fault, -r, "no memory for \"%s\"", visible_name(member->key).text);
    file->name = member->key;
    file->length = bytes.length;
    file->bytes = request->decoded[request->file_count] = pointer_take(&bytes.data);
    request->file_count++;
    return 0;
}

/* {"name": "base64", ...}; what is null is left out. */
static int read_files(struct run_request *request, const struct json_value *object,
                      struct fault *fault)
{
    const struct json_value *files = member_of(object, "files");
    if (files == NULL)
        return 0;
    if (files->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "\"files\" must be an object: names, and base64");
    int r = run_inputs_check_count(files->count, fault);
    if (r < 0 || files->count == 0)
        return r;
    request->files = calloc(files->count, sizeof(*request->files));
    request->decoded = calloc(files->count, sizeof(*request->decoded));
    if (request->files == NULL || request->decoded == NULL)
        return fault_set(fault, ENOMEM, "no memory for the files");
    for (const struct json_value *file = files->first; r == 0 && file != NULL; file = file->next)
        if (file->type != JSON_NULL)
            r = decode_file(request, file, fault);
    if (r == 0)
        r = run_inputs_check(request->files, request->file_count,
                             request->snippet.language->code_name, fault);
    request->snippet.inputs = request->files;
    request->snippet.input_count = request->file_count;
    return r;
}

static int read_wanted(struct run_request *request, const struct json_value *object,
                       struct fault *fault)
{
    const struct json_value *wanted = member_of(object, "fetch_files");
    const struct json_value *name =
        wanted != NULL && wanted->type == JSON_ARRAY ? wanted->first : NULL;
    while (name != NULL && name->type == JSON_STRING)
        name = name->next;
    if (wanted != NULL && (wanted->type != JSON_ARRAY || name != NULL))
        return fault_set(fault, EINVAL, "\"fetch_files\" must be an array of names");
    if (wanted != NULL && wanted->count > HTTP_FILES_NAMED_MAX)
        return fault_set(fault, E2BIG, "\"fetch_files\" has %zu names: at most %d are accepted",
                         wanted->count, HTTP_FILES_NAMED_MAX);
    if (wanted != NULL && wanted->count > 0 && request->tests.count > 0)
        return fault_set(fault, EINVAL,
                         "tests return no files: leave \"fetch_files\" out, or \"tests\"");
    request->wanted = wanted;
    return 0;
}

int run_request_read(struct run_request *request, const struct settings *settings,
                     const struct buffer *body, struct fault *fault)
{
    *request = (struct run_request){0};
    int r = json_parse(body->data, body->length, &request->json, fault);
    if (r < 0)
        return r;
    const struct json_value *object = json_root(request->json);
    if (object->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "the request is not a JSON object");
    r = read_language(request, object, fault);
    if (r == 0)
        r = read_program(request, object, fault);
    if (r == 0)
        r = read_limits(request, settings, object, fault);
    if (r == 0)
        r = test_set_read(object, &request->tests, fault);
    if (r == 0)
        r = read_files(request, object, fault);
    return r == 0 ? read_wanted(request, object, fault) : r;
}

int run_request_write(const struct run_request *request, struct buffer *body)
{
    static const char *const members[] = {"language",
                                          "code",
                                          "stdin",
                                          "run_timeout",
                                          "compile_timeout",
                                          "files",
                                          "memory_limit_MB",
                                          "fetch_files",
                                          "tests",
                                          "compare",
                                          "stop_at_first_failure",
                                          "parallel"};
    struct json_writer *writer = NULL;
    int r = json_writer_open(body, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        const struct json_value *value = member_of(json_root(request->json), members[i]);
        if (value == NULL)
            continue;
        json_key(writer, members[i]);
        json_copy(writer, value);
    }
    json_end_object(writer);
    return json_writer_close(writer);
}

int run_request_copy_wanted(const struct run_request *request, struct json **ret_json,
                            size_t *ret_bytes)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_IN_MAX);
    struct json_writer *writer = NULL;
    struct fault fault;
    *ret_json = NULL;
    *ret_bytes = 0;
    if (request->wanted == NULL)
        return 0;
    int r = json_writer_open(&text, &writer);
    if (r < 0)
        return r;
    json_copy(writer, request->wanted);
    r = json_writer_close(writer);
    *ret_bytes = text.length + request->wanted->count * sizeof(struct json_value);
    return r < 0 ? r : json_parse(text.data, text.length, ret_json, &fault);
}

void run_request_release(struct run_request *request)
{
    for (size_t i = 0; i < request->file_count; i++)
        free(request->decoded[i]);
    free(request->decoded);
    free(request->files);
    test_set_release(&request->tests);
    json_release(&request->json);
    *request = (struct run_request){0};
}
