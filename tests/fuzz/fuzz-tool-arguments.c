/*
 * The arguments of a tool, as JSON: a run is started exactly when the schema that tools/list
 * publishes allows them, with that code, time, stdin and files, and in a new session if that is
 * asked for; otherwise the model is told, and nothing runs. No other session is there.
 */
#include "interpreter/base/bounds.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fake-launcher.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input-check.h"
#include "tests/fuzz/wire.h"

#include <math.h>
#include <string.h>

#define WALL_MAX_MS 60000

static const struct json_value *last_named(const struct json_value *object, const char *name)
{
    const struct json_value *found = NULL;
    const struct json_value *member = object != NULL ? object->first : NULL;
    for (; member != NULL; member = member->next) {
        if (strlen(name) == member->key_length && memcmp(name, member->key, strlen(name)) == 0)
            found = member;
    }
    return found;
}

static const struct json_value *given(const struct json_value *object, const char *name)
{
    const struct json_value *value = last_named(object, name);
    return value == NULL || value->type == JSON_NULL ? NULL : value;
}

static bool has_only(const struct json_value *object, const char *const *names)
{
    for (const struct json_value *member = object->first; member; member = member->next) {
        size_t i = 0;
        while (names[i] != NULL && !json_key_is(member, names[i]))
            i++;
        if (names[i] == NULL)
            return false;
    }
    return true;
}

static bool is_name(const struct json_value *name)
{
    static const char *const programs[] = {"main.py", "main.js", "main.sh"};
    if (name == NULL || name->type != JSON_STRING)
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(programs); i++)
        if (!input_check_name(name->text, name->length, programs[i]))
            return false;
    return true;
}

/* The bytes of a file. False: there are none. */
static bool content_of(const struct json_value *file, struct buffer *bytes)
{
    const struct json_value *text = given(file, "text");
    const struct json_value *base64 = given(file, "base64");
    if ((text == NULL) == (base64 == NULL))
        return false;
    size_t wrong;
    if (text != NULL)
        return text->type == JSON_STRING && buffer_append(bytes, text->text, text->length) == 0;
    return base64->type == JSON_STRING &&
           base64_decode(bytes, base64->text, base64->length, &wrong) == 0;
}

static bool are_files(const struct json_value *files)
{
    static const char *const members[] = {"name", "text", "base64", NULL};
    OWNED(buffer_release) struct buffer bytes = BUFFER(LINE_IN_MAX);
    if (files->type != JSON_ARRAY || files->count > INPUT_FILES_MAX)
        return false;
    for (const struct json_value *file = files->first; file != NULL; file = file->next) {
        if (file->type != JSON_OBJECT || !has_only(file, members) ||
            !is_name(given(file, "name")) || !content_of(file, &bytes))
            return false;
        for (const struct json_value *other = files->first; other != file; other = other->next)
            if (input_check_collide(given(file, "name")->text, given(other, "name")->text))
                return false;
    }
    return bytes.length <= INPUT_BYTES_MAX;
}

/* As the schema says it: the known properties, the one required. */
static bool is_allowed(const struct json_value *arguments)
{
    static const char *const members[] = {"code",  "timeout_seconds", "session",
                                          "stdin", "files",           NULL};
    if (arguments == NULL || arguments->type != JSON_OBJECT || !has_only(arguments, members))
        return false;
    const struct json_value *code = last_named(arguments, "code");
    const struct json_value *timeout = given(arguments, "timeout_seconds");
    const struct json_value *text = given(arguments, "stdin");
    const struct json_value *files = given(arguments, "files");
    const struct json_value *session = given(arguments, "session");
    if (code == NULL || code->type != JSON_STRING || (session != NULL && !json_is(session, "new")))
        return false;
    if ((text != NULL && text->type != JSON_STRING) || (files != NULL && !are_files(files)))
        return false;
    if (timeout == NULL)
        return true;
    bool is_text = timeout->type == JSON_STRING && strlen(timeout->text) == timeout->length;
    size_t written = is_text ? strspn(timeout->text, "0123456789.eE+-") : 0;
    char *end = NULL;
    if ((timeout->type != JSON_NUMBER && (!is_text || written < timeout->length)) ||
        timeout->text[0] == '\0' || strchr("-+eE", timeout->text[0]) != NULL)
        return false;
    strtod(timeout->text, &end);
    if (*end != '\0')
        return false;
    double milliseconds = round(strtod(timeout->text, NULL) * 1000);
    return milliseconds >= 1 && milliseconds <= WALL_MAX_MS;
}

struct caller {
    struct client peer;
    struct context context;
    struct rpc_observer observer;
    size_t lines;
    bool was_refused;
};

static void take_line(void *data, struct buffer *line)
{
    struct caller *client = data;
    FUZZ_CHECK(wire_check_line(line->data, line->length) == 1);
    OWNED(json_release) struct json *json = fuzz_parse(line);
    const struct json_value *result = json_member(json_root(json), "result");
    const struct json_value *is_error = json_member(result, "isError");
    FUZZ_CHECK(result == NULL || is_error != NULL);
    client->was_refused = result == NULL || is_error->boolean;
    client->lines++;
}

static void take_call(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct caller *client = data;
    tool_call_answer(&client->context, message,
                     &(struct reply){answer, VERSION_2025_11_25, TTL_NONE});
}

static void call_tool(struct caller *client, const struct json_value *arguments)
{
    OWNED(buffer_release) struct buffer line = BUFFER(LINE_IN_MAX);
    struct json_writer *writer = NULL;
    FUZZ_CHECK(json_writer_open(&line, &writer) == 0);
    json_begin_object(writer);
    json_text_member(writer, "jsonrpc", "2.0");
    json_number_member(writer, "id", 1);
    json_text_member(writer, "method", "tools/call");
    json_key(writer, "params");
    json_begin_object(writer);
    json_text_member(writer, "name", "run_python_code");
    json_key(writer, "arguments");
    json_copy(writer, arguments);
    json_end_object(writer);
    json_end_object(writer);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    rpc_receive(&client->peer.rpc, line.data, line.length);
}

static void check_files(const struct run *run, const struct json_value *files)
{
    FUZZ_CHECK(run->parcel.file_count == (files != NULL ? files->count : 0));
    const struct json_value *file = files != NULL ? files->first : NULL;
    for (uint32_t i = 0; i < run->parcel.file_count; i++, file = file->next) {
        OWNED(buffer_release) struct buffer bytes = BUFFER(LINE_IN_MAX);
        const char *name = parcel_name(&run->parcel, i);
        FUZZ_CHECK(content_of(file, &bytes) && strcmp(name, given(file, "name")->text) == 0);
        FUZZ_CHECK(bytes.length == 0 ||
                   memcmp(name + strlen(name) + 1, bytes.data, bytes.length) == 0);
    }
}

/* The program itself, or what is left of it without a fence or an indentation: bytes of it, in their order. */
static bool is_of(const struct run *run, const struct json_value *code)
{
    size_t at = 0;
    for (size_t i = 0; i < run->length; i++, at++) {
        while (at < code->length && code->text[at] != run->code[i])
            at++;
        if (at >= code->length)
            return false;
    }
    bool may_differ = memmem(code->text, code->length, "```", 3) != NULL ||
                      memmem(code->text, code->length, "~~~", 3) != NULL ||
                      strpbrk(code->text, " \t") != NULL || strlen(code->text) < code->length;
    return may_differ || run->length == code->length;
}

static void check_run(const struct run *run, const struct json_value *arguments)
{
    const struct json_value *text = given(arguments, "stdin");
    FUZZ_CHECK(run->has_stdin == (text != NULL));
    FUZZ_CHECK((run->session != NULL) == (given(arguments, "session") != NULL));
    FUZZ_CHECK(text == NULL || (run->stdin_length == text->length &&
                                memcmp(run->stdin_bytes, text->text, text->length) == 0));
    check_files(run, given(arguments, "files"));
    const struct json_value *code = last_named(arguments, "code");
    const struct json_value *timeout = last_named(arguments, "timeout_seconds");
    FUZZ_CHECK(code != NULL && is_of(run, code));
    if (timeout == NULL || timeout->type == JSON_NULL)
        FUZZ_CHECK(run->wall_ms == 0);
    else
        FUZZ_CHECK(fabs((double)run->wall_ms - strtod(timeout->text, NULL) * 1000) < 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(json_release) struct json *json = NULL;
    if (json_parse((const char *)data, size, &json, NULL) < 0)
        return -1;
    const struct json_value *arguments = json_root(json);
    OWNED(settings_release) struct settings settings = settings_default();
    settings.wall_max_ms = WALL_MAX_MS;
    struct caller client = {.context = {.settings = &settings}};
    client.context.launcher = launcher_of(NULL, &settings);
    client.context.sessions = session_table_of(NULL, &settings);
    client.observer = (struct rpc_observer){.request = take_call, .send = take_line};
    client.observer.data = &client;
    client.peer.rpc.observer = &client.observer;
    call_tool(&client, arguments);
    const struct engine *engine = client.context.launcher.engine;
    bool is_running = engine != NULL && engine->first != NULL;
    FUZZ_CHECK(client.lines == (is_running ? 0 : 1));
    if (is_running)
        check_run(engine->first, arguments);
    else
        FUZZ_CHECK(client.was_refused);
    /* Code that the launcher itself refuses says nothing about the arguments. */
    const struct json_value *code = last_named(arguments, "code");
    bool launches = code == NULL || code->length == 0 || code->text[0] != FAKE_REFUSED;
    FUZZ_CHECK(!launches || is_running == is_allowed(arguments));
    fake_launcher_end_runs(&client.context.launcher);
    FUZZ_CHECK(client.lines == 1 && client.context.requests.first == NULL);
    launcher_release(&client.context.launcher);
    session_table_release(&client.context.sessions);
    return 0;
}
