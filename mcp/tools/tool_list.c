#include "mcp/tools/tool_list.h"
#include "interpreter/result/result_json.h"
#include "mcp/base/icon.h"
#include "mcp/tools/code_call.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <stdio.h>
#include <string.h>

#define TITLE_SIZE 64

/* Those of the languages. */
#define LANGUAGE(name_, place)                                                                     \
    [LANGUAGE_##place] = {                                                                         \
        .name = "run_" #name_ "_code",                                                             \
        .runs_code = true,                                                                         \
        .language = &language_##name_,                                                             \
        .is_offered = code_tool_is_offered,                                                        \
        .describe = code_tool_describe,                                                            \
        .write_schema = code_arguments_write_schema,                                               \
        .call = code_call_begin,                                                                   \
    },
static const struct tool code_tools[] = {LANGUAGES};
#undef LANGUAGE

/* Others, whose names come from meson.build. */
#define TOOL(name) extern const struct tool tool_##name;
TOOLS
#undef TOOL

#define LANGUAGE(name, place) &code_tools[LANGUAGE_##place],
#define TOOL(name) &tool_##name,
static const struct tool *const tools[] = {LANGUAGES TOOLS};
#undef TOOL
#undef LANGUAGE

static bool is_offered(const struct settings *settings, const struct tool *tool)
{
    return tool->is_offered == NULL || tool->is_offered(tool, settings);
}

const struct tool *tool_list_find(const struct settings *settings, const struct json_value *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
        if (json_is(name, tools[i]->name) && is_offered(settings, tools[i]))
            return tools[i];
    }
    return NULL;
}

const struct tool *tool_list_find_language(const struct language *language)
{
    return language->is_data ? tool_code_with(language) : &code_tools[language_place(language)];
}

static void write_title(struct json_writer *writer, const struct tool *tool)
{
    char text[TITLE_SIZE] = "";
    const char *title = tool->title;
    if (title == NULL && tool->language != NULL)
        snprintf(text, sizeof(text), "Run %s code", tool->language->title);
    json_text_member(writer, "title", title != NULL ? title : text);
}

/* All four, because their defaults are the worst case and some clients refuse to call then. */
static void write_annotations(struct json_writer *writer, const struct tool *tool,
                              const struct settings *settings)
{
    json_key(writer, "annotations");
    json_begin_object(writer);
    write_title(writer, tool);
    json_boolean_member(writer, "readOnlyHint", tool->is_read_only);
    json_boolean_member(writer, "destructiveHint",
                        tool->runs_code && folders_have(&settings->folders, FOLDER_WRITABLE));
    json_boolean_member(writer, "idempotentHint", false);
    json_boolean_member(writer, "openWorldHint",
                        tool->runs_code && settings->network.mode != NETWORK_OFF);
    json_end_object(writer);
}

static void write_tool(struct json_writer *writer, enum version version, const struct tool *tool,
                       const struct settings *settings)
{
    json_begin_object(writer);
    json_text_member(writer, "name", tool->name);
    if (version >= VERSION_2025_06_18)
        write_title(writer, tool);
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    tool->describe(tool, settings, &text);
    json_key(writer, "description");
    json_string(writer, text.data, text.length);
    json_key(writer, "inputSchema");
    tool->write_schema(tool, settings, writer);
    if (version >= VERSION_2025_06_18 && settings->result_format == RESULT_STRUCTURED &&
        tool->runs_code) {
        json_key(writer, "outputSchema");
        result_json_write_schema(writer);
    }
    if (version >= VERSION_2025_03_26)
        write_annotations(writer, tool, settings);
    icon_write_member(writer, version);
    json_end_object(writer);
}

static void write_tools(struct json_writer *writer, enum version version, const void *data)
{
    json_key(writer, "tools");
    json_begin_array(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++)
        if (is_offered(data, tools[i]))
            write_tool(writer, version, tools[i], data);
    json_end_array(writer);
}

void tool_list_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply)
{
    const struct json_value *cursor = json_member(message->params, "cursor");
    if (cursor != NULL && cursor->type != JSON_NULL)
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "unknown cursor: the list of tools has one page");
    else
        reply_result(reply, &(struct result_body){.write = write_tools, .data = context->settings});
}

void tool_call_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply)
{
    const struct json_value *name = json_member(message->params, "name");
    const struct json_value *arguments = json_member(message->params, "arguments");
    if (name == NULL || name->type != JSON_STRING) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "tools/call needs \"name\", a string");
        return;
    }
    if (arguments != NULL && arguments->type != JSON_OBJECT) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "\"arguments\" must be an object");
        return;
    }
    const struct tool *tool = tool_list_find(context->settings, name);
    if (tool == NULL) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "unknown tool: %s: see tools/list",
                         visible_name(name->text).text);
        return;
    }
    const struct json_value *meta = json_member(message->params, "_meta");
    tool->call(context,
               &(struct tool_request){tool, arguments, json_member(meta, "progressToken"), reply});
}
