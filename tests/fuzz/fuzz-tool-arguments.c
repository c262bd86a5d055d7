/*
 * The arguments of a tool, as JSON: a run is started exactly when the schema that tools/list
 * publishes allows them, with that code and that time; otherwise the model is told, and nothing runs.
 */
#include "mcp/base/bounds.h"
#include "mcp/tools/tool_call.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fake-launcher.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/wire.h"

#include <math.h>
#include <string.h>

#define WALL_MAX_MS 60000

static const struct json_value *last_named(const struct json_value *object, const char *name)
{
    const struct json_value *found = NULL;
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        if (strlen(name) == member->key_length && memcmp(name, member->key, strlen(name)) == 0)
            found = member;
    }
    return found;
}

/* As the schema says it: two known properties, the one required. */
static bool is_allowed(const struct json_value *arguments)
{
    if (arguments->type != JSON_OBJECT)
        return false;
    for (const struct json_value *member = arguments->first; member; member = member->next) {
        if (!json_key_is(member, "code") && !json_key_is(member, "timeout_seconds"))
            return false;
    }
    const struct json_value *code = last_named(arguments, "code");
    const struct json_value *timeout = last_named(arguments, "timeout_seconds");
    if (code == NULL || code->type != JSON_STRING)
        return false;
    if (timeout == NULL || timeout->type == JSON_NULL)
        return true;
    if (timeout->type != JSON_NUMBER || timeout->text[0] == '-')
        return false;
    double milliseconds = round(strtod(timeout->text, NULL) * 1000);
    return milliseconds >= 1 && milliseconds <= WALL_MAX_MS;
}

struct client {
    struct context context;
    struct rpc_observer observer;
    size_t lines;
    bool was_refused;
};

static void take_line(void *data, const char *line, size_t length)
{
    struct client *client = data;
    FUZZ_CHECK(wire_check_line(line, length) == 1);
    struct buffer text = {.data = (char *)line, .length = length};
    OWNED(json_release) struct json *json = fuzz_parse(&text);
    const struct json_value *result = json_member(json_root(json), "result");
    const struct json_value *is_error = json_member(result, "isError");
    FUZZ_CHECK(result == NULL || is_error != NULL);
    client->was_refused = result == NULL || is_error->boolean;
    client->lines++;
}

static void take_call(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct client *client = data;
    tool_call_answer(&client->context, message,
                     &(struct reply){answer, VERSION_2025_11_25, TTL_NONE});
}

static void call_tool(struct client *client, const struct json_value *arguments)
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
    json_text_member(writer, "name", "run_javascript_code");
    json_key(writer, "arguments");
    json_copy(writer, arguments);
    json_end_object(writer);
    json_end_object(writer);
    FUZZ_CHECK(json_writer_close(writer) == 0);
    rpc_receive(&client->context.rpc, line.data, line.length);
}

static void check_run(const struct run *run, const struct json_value *arguments)
{
    const struct json_value *code = last_named(arguments, "code");
    const struct json_value *timeout = last_named(arguments, "timeout_seconds");
    FUZZ_CHECK(code != NULL && run->length == code->length &&
               memcmp(run->code, code->text, code->length) == 0);
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
    struct client client = {.context = {.settings = &settings}};
    client.context.launcher = launcher_of(NULL, &settings);
    client.observer = (struct rpc_observer){.request = take_call, .send = take_line};
    client.observer.data = &client;
    client.context.rpc.observer = &client.observer;
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
    FUZZ_CHECK(client.lines == 1 && client.context.calls == NULL);
    launcher_release(&client.context.launcher);
    return 0;
}
