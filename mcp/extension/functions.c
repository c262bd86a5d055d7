#include "mcp/extension/functions.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "mcp/tools/code_call.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define REQUEST_ID_SIZE 48
#define NUMBER_MAX 4300 /* digits */

/* A request that the client has not answered. */
struct function_call {
    struct function_call *previous, *next; /* of the context */
    struct functions *functions;
    struct client *client; /* borrowed: functions_forget() */
    struct session_call *call;
    const struct rpc_answer *cell; /* while it is sent: of the request that has its snippet */
    const struct json_value *arguments; /* likewise */
    char id[REQUEST_ID_SIZE];
};

/* Reading. */

static int refuse(struct fault *fault, size_t index, const char *what)
{
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, EINVAL, "the parameter \"functions\": %s, in function %zu", what,
                     index + 1);
}

static bool is_name(const struct json_value *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:";
    return name != NULL && name->type == JSON_STRING && name->length > 0 &&
           name->length <= CALL_NAME_MAX && strspn(name->text, letters) == name->length;
}

static int read_function(struct call_functions *functions, const struct json_value *value,
                         size_t index, struct fault *fault)
{
    const struct json_value *name = json_member(value, "name");
    const struct json_value *description = json_member(value, "description");
    const struct json_value *schema = json_member(value, "inputSchema");
    if (!is_name(name))
        return refuse(fault, index,
                      "\"name\" must be 1 to 128 letters of A-Z, a-z, 0-9, _, -, ., / and :");
    if (call_functions_have(functions, name->text))
        return refuse(fault, index, "another one has the same \"name\"");
    if (description != NULL && description->type != JSON_STRING)
        return refuse(fault, index, "\"description\" must be a string");
    if (schema != NULL && schema->type != JSON_OBJECT)
        return refuse(fault, index, "\"inputSchema\" must be an object");
    for (const struct json_value *member = value->first; member != NULL; member = member->next)
        if (!json_key_is(member, "name") && !json_key_is(member, "description") &&
            !json_key_is(member, "inputSchema"))
            return refuse(fault, index,
                          "it may have \"name\", \"description\" and \"inputSchema\" only");
    memcpy(functions->names[functions->count++], name->text, name->length + 1);
    return 0;
}

static int keep_json(struct call_functions *functions, const struct json_value *list,
                     struct fault *fault)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(&functions->json, &writer);
    if (r == 0) {
        json_copy(writer, list);
        r = json_writer_close(writer);
    }
    if (r == 0)
        return 0;
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, r == -ENOMEM ? ENOMEM : EINVAL,
                     "the parameter \"functions\" must have 256 KiB at most");
}

int functions_read(const struct json_value *list, struct call_functions **ret_functions,
                   struct fault *fault)
{
    fault_identify(fault, "invalid_parameter");
    if (list->type != JSON_ARRAY || list->count > CALL_FUNCTIONS_MAX)
        return fault_set(fault, EINVAL,
                         "the parameter \"functions\" must be an array of at most %d objects",
                         CALL_FUNCTIONS_MAX);
    struct call_functions *functions = call_functions_new(list->count);
    if (functions == NULL)
        return fault_set(fault, ENOMEM, "reading the parameter \"functions\": %m");
    int r = 0;
    size_t index = 0;
    for (const struct json_value *value = list->first; r == 0 && value != NULL; value = value->next)
        r = read_function(functions, value, index++, fault);
    if (r == 0)
        r = keep_json(functions, list, fault);
    if (r == 0)
        *ret_functions = functions;
    else
        call_functions_free(functions);
    return r;
}

/* Calls. */

static void call_free(struct function_call *call)
{
    call->call->data = NULL;
    LIST_REMOVE(call->functions->context->function_calls, call);
    free(call);
}

void functions_free(void *data)
{
    struct functions *functions = data;
    if (functions == NULL)
        return;
    LIST_EACH (struct function_call, call, functions->context->function_calls)
        if (call->functions == functions) {
            LIST_REMOVE(functions->context->function_calls, call);
            free(call);
        }
    free(functions);
}

struct functions *functions_new(struct context *context, const struct session_entry *entry)
{
    struct functions *functions = calloc(1, sizeof(*functions));
    if (functions == NULL)
        return NULL;
    functions->context = context;
    functions->owner = entry->owner;
    memcpy(functions->handle, entry->handle, sizeof(functions->handle));
    return functions;
}

/* With the name that was meant, if one is near, and else with some that there are. */
static void refuse_unknown(struct session_call *call)
{
    const struct call_functions *functions = session_call_functions(call);
    char text[512];
    struct spelling spelling = spelling_of(call->name);
    for (size_t i = 0; i < functions->count; i++)
        spelling_offer(&spelling, functions->names[i]);
    int length =
        snprintf(text, sizeof(text), "there is no function %s", visible_name(call->name).text);
    if (spelling.nearest != NULL) {
        snprintf(text + length, sizeof(text) - (size_t)length, "; did you mean %s?",
                 spelling.nearest);
        session_call_refuse(call, CALL_REFUSED, "ToolRefused", text);
        return;
    }
    if (functions->count == 0)
        snprintf(text + length, sizeof(text) - (size_t)length, "; there are none");
    for (size_t i = 0; i < functions->count && length < (int)sizeof(text) / 2; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%s",
                           i == 0 ? "; there are: " : ", ", functions->names[i]);
    session_call_refuse(call, CALL_REFUSED, "ToolRefused", text);
}

static void write_call(struct json_writer *writer, const void *data)
{
    const struct function_call *call = data;
    json_begin_object(writer);
    json_text_member(writer, "session", call->functions->handle);
    json_key(writer, "cell");
    rpc_answer_write_id(call->cell, writer);
    json_number_member(writer, "call", call->call->number);
    json_text_member(writer, "name", call->call->name);
    json_key(writer, "arguments");
    json_copy(writer, call->arguments);
    json_end_object(writer);
}

/* Clients that share an owner know no ids of each other, nor those of a server before this one. */
static bool make_id(struct context *context, char id[REQUEST_ID_SIZE])
{
    uint64_t secret;
    if (getrandom(&secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
        return false;
    snprintf(id, REQUEST_ID_SIZE, "call-%" PRIu64 "-%016" PRIx64, ++context->function_call_count,
             secret);
    return true;
}

static void ask(struct functions *functions, const struct rpc_answer *cell,
                struct session_call *session_call, const struct json_value *arguments)
{
    struct client *client = client_of(cell);
    struct context *context = functions->context;
    struct function_call *call = calloc(1, sizeof(*call));
    if (call == NULL || !make_id(context, call->id)) {
        free(call);
        session_call_refuse(session_call, CALL_LIMIT, "ToolLimit",
                            "the server has no memory, or no random numbers");
        return;
    }
    call->functions = functions;
    call->client = client;
    call->call = session_call;
    call->cell = cell;
    call->arguments = arguments;
    LIST_PREPEND(context->function_calls, call);
    session_call->data = call;
    if (rpc_ask(&client->rpc, call->id, "code-sandbox/call", write_call, call) == 0)
        return;
    call_free(call);
    session_call_refuse(session_call, CALL_LIMIT, "ToolLimit",
                        "its arguments are too large to be sent");
}

/* Python reads none that is longer: sys.set_int_max_str_digits(). */
static bool has_long_number(const struct buffer *json)
{
    size_t digits = 0;
    bool is_text = false;
    for (size_t i = 0; i < json->length && digits <= NUMBER_MAX; i++) {
        char byte = json->data[i];
        if (byte == '"')
            is_text = !is_text;
        else if (byte == '\\' && is_text)
            i++;
        digits = !is_text && byte >= '0' && byte <= '9' ? digits + 1 : 0;
    }
    return digits > NUMBER_MAX;
}

static const char silent[] = "the program that has the function sends nothing any more";

static void called(void *data, struct session_call *call)
{
    struct functions *functions = data;
    const struct rpc_answer *cell =
        code_call_answer(functions->context, functions->owner, functions->handle);
    const struct client *client = cell != NULL ? client_of(cell) : NULL;
    struct fault fault = {0};
    OWNED(json_release) struct json *json = NULL;
    if (strlen(call->name) != call->name_length ||
        !call_functions_have(session_call_functions(call), call->name))
        refuse_unknown(call);
    else if (client == NULL)
        session_call_refuse(call, CALL_REFUSED, "ToolRefused",
                            "the request that the snippet came with is cancelled");
    else if (client->is_silent)
        session_call_refuse(call, CALL_REFUSED, "ToolRefused", silent);
    else if (client->unsent != NULL && client->unsent(client) > OUTPUT_PAUSE)
        session_call_refuse(call, CALL_LIMIT, "ToolLimit",
                            "the program that has the function does not read what it is sent");
    else if (json_parse(call->arguments.data, call->arguments.length, &json, &fault) < 0)
        session_call_refuse(call, CALL_REFUSED, "ToolRefused", fault.text);
    else if (has_long_number(&call->arguments))
        session_call_refuse(call, CALL_REFUSED, "ToolRefused",
                            "a number of its arguments has more than 4300 digits");
    else if (json_root(json)->type != JSON_OBJECT)
        session_call_refuse(call, CALL_REFUSED, "ToolRefused",
                            "its arguments must be an object: a value for each name");
    else
        ask(functions, cell, call, json_root(json));
}

static void write_cancelled(struct json_writer *writer, const void *data)
{
    const struct function_call *call = data;
    json_begin_object(writer);
    json_text_member(writer, "requestId", call->id);
    json_text_member(writer, "reason", "the snippet waits no more");
    json_end_object(writer);
}

static void cancel(struct function_call *call)
{
    rpc_notify(&call->client->rpc, "notifications/cancelled", write_cancelled, call);
    call_free(call);
}

static void cancelled(void *data, struct session_call *session_call)
{
    (void)data;
    if (session_call->data != NULL)
        cancel(session_call->data);
}

/* The snippet is being interrupted; until then its calls wait. */
void functions_forget(struct context *context, const struct client *client)
{
    LIST_EACH (struct function_call, call, context->function_calls)
        if (call->client == client)
            cancel(call);
}

void functions_silence(struct context *context, struct client *client)
{
    client->is_silent = true;
    /* From the beginning each time: a refusal may be the end of a session, and of its calls. */
    for (struct function_call *call = context->function_calls; call != NULL;) {
        struct session_call *session_call = call->call;
        bool is_its = call->client == client;
        if (is_its) {
            call_free(call);
            session_call_refuse(session_call, CALL_REFUSED, "ToolRefused", silent);
        }
        call = is_its ? context->function_calls : call->next;
    }
}

struct calls_spec functions_spec(struct functions *functions, const struct call_functions *declared,
                                 uint64_t calls, int64_t call_ms)
{
    return (struct calls_spec){
        .observer = {.called = called, .cancelled = cancelled, .data = functions},
        .functions = declared,
        .most = calls,
        .call_ms = call_ms,
    };
}

/* Answers. */

static void answer_value(struct session_call *call, const struct json_value *value)
{
    OWNED(buffer_release) struct buffer json = BUFFER(CALL_BYTES_MAX);
    struct json_writer *writer = NULL;
    int r = json_writer_open(&json, &writer);
    if (r == 0) {
        json_copy(writer, value);
        r = json_writer_close(writer);
    }
    if (r == 0)
        session_call_answer(call, json.data, json.length);
    else
        session_call_refuse(call, CALL_LIMIT, "ToolLimit",
                            "its value has more than 1 MiB as JSON, the most that there may be");
}

static const char *text_of(const struct json_value *object, const char *name, const char *otherwise)
{
    const struct json_value *value = json_member(object, name);
    return value != NULL && value->type == JSON_STRING ? value->text : otherwise;
}

static void answer_error(struct session_call *call, const struct json_value *error)
{
    const struct json_value *data = json_member(error, "data");
    const char *message = text_of(error, "message", "the function failed");
    session_call_refuse(call, CALL_RAISED, text_of(data, "type", "Error"),
                        text_of(data, "text", message));
}

void functions_take_answer(struct context *context, unsigned owner, const struct json_value *id,
                           const struct json_value *result, const struct json_value *error)
{
    struct function_call *call = context->function_calls;
    while (call != NULL && (call->functions->owner != owner || !json_is(id, call->id)))
        call = call->next;
    if (call == NULL) {
        log_note(
            "an answer to no open request of the server was ignored: it is late, or comes twice");
        return;
    }
    struct session_call *session_call = call->call;
    const struct json_value *value = json_member(result, "value");
    call_free(call);
    if (error != NULL)
        answer_error(session_call, error);
    else if (value != NULL)
        answer_value(session_call, value);
    else
        session_call_refuse(session_call, CALL_RAISED, "Error",
                            "the function's program answered without a \"value\"");
}
