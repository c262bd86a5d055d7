#include "mcp/tools.h"
#include "mcp/bounds.h"
#include "mcp/log.h"
#include "mcp/record.h"
#include "mcp/result_text.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tool {
    const char *name;
    const char *title;
    const char *language; /* of the catalog */
    const char *description;
    const char *libraries; /* said of the language's own image */
    const char *code;      /* what to write into the argument */
    const char *silent_hint;
};

/* Names and arguments are those that clients of the server of old have in their settings. */
static const struct tool tools[] = {
    {
        .name = "run_python_code",
        .title = "Run Python code",
        .language = "python",
        .description = "Runs a Python 3 program in a sandbox and returns what it printed. Use it "
                       "to compute, to analyse data, or to check code by running it.",
        .libraries = "numpy, pandas, matplotlib, scikit-learn and requests can be imported.",
        .code = "The Python program, whole: it is run as `python3 main.py`. Use print() for what "
                "you want to see; the value of a last expression is not shown.",
        .silent_hint = "To see a value, print it: print(value)",
    },
    {
        .name = "run_javascript_code",
        .title = "Run JavaScript code",
        .language = "javascript",
        .description = "Runs a JavaScript program with Node.js in a sandbox and returns what it "
                       "printed. Use it to compute, or to check code by running it.",
        .libraries = "Node's own modules can be imported, and @google/genai.",
        .code = "The JavaScript program, whole: it is run as `node main.js`. Both require() and "
                "import work, and await at the top level of a module. Use console.log() for what "
                "you want to see.",
        .silent_hint = "To see a value, print it: console.log(value)",
    },
};

/* A tools/call whose run has not ended. */
struct call {
    struct call *next, *previous;
    struct server *server;
    const struct tool *tool;
    const struct language *language;
    struct rpc_answer *answer; /* owned */
    struct run *run; /* the engine's */
};

static void write_description(struct json_writer *writer, const struct tool *tool,
                              const struct settings *settings)
{
    const struct language *language = language_find(tool->language);
    bool own_image = language != NULL && settings->bound_language != language;
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    buffer_format(&text,
                  "%s %s Each call is a fresh process in an empty directory: nothing is kept "
                  "between calls, there is no network and no access to this computer's files, and "
                  "it is stopped after %g seconds.",
                  tool->description,
                  own_image
                      ? tool->libraries
                      : "The resource sandbox://environments tells which libraries there are.",
                  (double)settings->wall_ms / 1000);
    json_key(writer, "description");
    json_string(writer, text.data, text.length);
}

static void write_input_schema(struct json_writer *writer, const struct tool *tool)
{
    json_key(writer, "inputSchema");
    json_begin_object(writer);
    json_text_member(writer, "type", "object");
    json_key(writer, "properties");
    json_begin_object(writer);
    json_key(writer, "code");
    json_begin_object(writer);
    json_text_member(writer, "type", "string");
    json_text_member(writer, "description", tool->code);
    json_end_object(writer);
    json_end_object(writer);
    json_key(writer, "required");
    json_begin_array(writer);
    json_text(writer, "code");
    json_end_array(writer);
    json_boolean_member(writer, "additionalProperties", false);
    json_end_object(writer);
}

/* All four, because their defaults are the worst case and some clients refuse to call then. */
static void write_annotations(struct json_writer *writer, const struct tool *tool)
{
    json_key(writer, "annotations");
    json_begin_object(writer);
    json_text_member(writer, "title", tool->title);
    json_boolean_member(writer, "readOnlyHint", false);
    json_boolean_member(writer, "destructiveHint", false);
    json_boolean_member(writer, "idempotentHint", false);
    json_boolean_member(writer, "openWorldHint", false);
    json_end_object(writer);
}

static void write_tools(struct json_writer *writer, const void *data)
{
    const struct settings *settings = data;
    json_begin_object(writer);
    json_key(writer, "tools");
    json_begin_array(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
        json_begin_object(writer);
        json_text_member(writer, "name", tools[i].name);
        json_text_member(writer, "title", tools[i].title);
        write_description(writer, &tools[i], settings);
        write_input_schema(writer, &tools[i]);
        if (settings->result_format == RESULT_STRUCTURED) {
            json_key(writer, "outputSchema");
            result_text_write_schema(writer);
        }
        write_annotations(writer, &tools[i]);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

void tools_list(struct server *server, const struct rpc_message *message, struct rpc_answer *answer)
{
    const struct json_value *cursor = json_member(message->params, "cursor");
    if (cursor != NULL && cursor->type != JSON_NULL)
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "unknown cursor: the list of tools has one page");
    else
        rpc_answer_result(answer, write_tools, server->settings);
}

static void link_call(struct call *call)
{
    struct server *server = call->server;
    call->next = server->calls;
    if (call->next != NULL)
        call->next->previous = call;
    server->calls = call;
}

/* Frees the call; its answer must have been given or dropped. */
static void end_call(struct call *call)
{
    struct server *server = call->server;
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        server->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    free(call);
}

static void answer_run(struct call *call, const struct run_result *result)
{
    const struct settings *settings = call->server->settings;
    struct shown_result shown;
    if (shown_result_make(result, &shown) < 0) {
        rpc_answer_error(call->answer, RPC_INTERNAL_ERROR, "no memory for the result");
        return;
    }
    const struct result_view view = {
        .result = result,
        .shown = &shown,
        .image = settings_image(settings, call->language),
        .silent_hint = call->tool->silent_hint,
        .format = settings->result_format,
    };
    rpc_answer_result(call->answer, result_text_write, &view);
    shown_result_release(&shown);
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct call *call = data;
    if (status < 0)
        rpc_answer_result(call->answer, result_text_write_error, fault->text);
    else
        answer_run(call, result);
    end_call(call);
}

/* The arguments' mistakes, in a sentence that tells the model what to do; fault empty: none. */
static void check_arguments(const struct tool *tool, const struct json_value *arguments,
                            struct fault *fault)
{
    size_t count = arguments != NULL ? arguments->count : 0;
    const struct json_value *argument = count > 0 ? arguments->first : NULL;
    for (; argument != NULL; argument = argument->next) {
        if (argument->key_length != strlen("code") || strcmp(argument->key, "code") != 0)
            fault_set(fault, EINVAL,
                      "%s has no argument \"%.100s\": its one argument is \"code\", a string",
                      tool->name, argument->key);
    }
    const struct json_value *code = json_member(arguments, "code");
    if (code == NULL)
        fault_set(fault, EINVAL,
                  "the argument \"code\" is missing: give %s the program as a string", tool->name);
    else if (code->type != JSON_STRING)
        fault_set(fault, EINVAL, "the argument \"code\" must be a string: the program's text");
    else if (code->length > CODE_MAX)
        fault_set(fault, EINVAL, "the code is longer than %llu MiB, the most that is accepted",
                  (unsigned long long)(CODE_MAX / MEBIBYTE));
}

static int start_call(struct server *server, const struct tool *tool, const struct json_value *code,
                      struct rpc_answer *answer, struct fault *fault)
{
    const struct language *language = language_find(tool->language);
    if (language == NULL)
        return fault_set(fault, ENOENT, "%s is not known to this build", tool->language);
    struct call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return fault_set(fault, ENOMEM, "starting a run: %m");
    *call = (struct call){
        .server = server,
        .tool = tool,
        .language = language,
        .answer = answer,
    };
    link_call(call);
    const struct run_observer observer = {.done = run_done, .data = call};
    const struct snippet snippet = {language, code->text, code->length};
    int r = launcher_start(&server->launcher, &snippet, &observer, &call->run, fault);
    if (r < 0)
        end_call(call);
    return r;
}

static const struct tool *find_tool(const struct json_value *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
        if (json_is(name, tools[i].name))
            return &tools[i];
    }
    return NULL;
}

void tools_call(struct server *server, const struct rpc_message *message, struct rpc_answer *answer)
{
    const struct json_value *name = json_member(message->params, "name");
    const struct json_value *arguments = json_member(message->params, "arguments");
    if (name == NULL || name->type != JSON_STRING) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS, "tools/call needs \"name\", a string");
        return;
    }
    if (arguments != NULL && arguments->type != JSON_OBJECT) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS, "\"arguments\" must be an object");
        return;
    }
    const struct tool *tool = find_tool(name);
    if (tool == NULL) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "unknown tool: %.100s (tools/list has those "
                         "there are)",
                         name->text);
        return;
    }
    struct fault fault = {0};
    check_arguments(tool, arguments, &fault);
    if (fault.text[0] == '\0')
        start_call(server, tool, json_member(arguments, "code"), answer, &fault);
    if (fault.text[0] != '\0')
        rpc_answer_result(answer, result_text_write_error, fault.text);
}

void tools_cancel(struct server *server, const struct json_value *id)
{
    for (struct call *call = server->calls; call != NULL; call = call->next) {
        if (!rpc_answer_is_for(call->answer, id))
            continue;
        run_cancel(call->run);
        rpc_answer_drop(call->answer);
        end_call(call);
        return;
    }
}

bool tools_is_live(const struct server *server, const struct rpc_answer *answer)
{
    for (const struct call *call = server->calls; call != NULL; call = call->next) {
        if (rpc_answer_same_id(call->answer, answer))
            return true;
    }
    return false;
}

void tools_forget_all(struct server *server)
{
    while (server->calls != NULL) {
        rpc_answer_drop(server->calls->answer);
        end_call(server->calls);
    }
}
