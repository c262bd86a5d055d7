#include "mcp/tools/tool_list.h"
#include "images/store/store.h"
#include "mcp/base/bounds.h"
#include "mcp/base/icon.h"
#include "mcp/tools/result_text.h"
#include "sandbox/base/owned.h"

#include <string.h>

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
        .example = "print(sum(range(101)))",
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
        .example = "console.log([1, 2, 3].map((x) => x * x))",
        .silent_hint = "To see a value, print it: console.log(value)",
    },
    {
        .name = "run_bash_code",
        .title = "Run Bash code",
        .language = "bash",
        .description =
            "Runs a Bash script in a sandbox and returns what it printed. Use it to work "
            "on text and files with the tools of a shell, or to check a script by "
            "running it.",
        .libraries = "coreutils, grep, sed, gawk, find, diff, jq and bc are there.",
        .code = "The script, whole: it is run as `bash main.sh`.",
        .example = "seq 1 9 | paste -sd+ | bc",
        .silent_hint = "To see a value, print it: echo \"$value\"",
    },
};

static bool is_offered(const struct settings *settings, const struct tool *tool)
{
    const struct language *language = language_find(tool->language);
    return language == NULL || settings_offer(settings, language);
}

const struct tool *tool_find(const struct settings *settings, const struct json_value *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
        if (json_is(name, tools[i].name) && is_offered(settings, &tools[i]))
            return &tools[i];
    }
    return NULL;
}

double tool_seconds(int64_t milliseconds)
{
    return (double)milliseconds / 1000;
}

/* What can be imported, as the image tells that is really there. */
static void describe_libraries(struct buffer *text, const struct tool *tool,
                               const struct settings *settings)
{
    const struct language *language = language_find(tool->language);
    OWNED_MEMORY char *store = NULL;
    OWNED(image_release) struct image image = {0};
    bool is_there = language != NULL && store_path(&store, NULL) == 0 &&
                    image_open(store, settings_image(settings, language), &image, NULL) == 0;
    if (is_there && image.summary[0] != '\0') {
        size_t length = strlen(image.summary);
        while (length > LIBRARIES_SHOWN_MAX ||
               (length > 0 && image.summary[length] != '\0' && image.summary[length] != ','))
            length--;
        buffer_format(text, "Installed: %.*s%s.", (int)length, image.summary,
                      image.summary[length] != '\0' ? " and more" : "");
    } else if (!is_there && language != NULL &&
               strcmp(settings_image(settings, language), language->image) == 0) {
        buffer_append_text(text, tool->libraries);
    } else {
        buffer_append_text(text, "The resource sandbox://environments tells which libraries there "
                                 "are.");
    }
}

static void write_description(struct json_writer *writer, const struct tool *tool,
                              const struct settings *settings)
{
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    buffer_format(&text, "%s ", tool->description);
    describe_libraries(&text, tool, settings);
    buffer_format(&text,
                  " Pictures that it saves in its directory (PNG, JPEG, GIF, WebP) are shown. "
                  "Each call is a fresh process in an empty directory: nothing is kept "
                  "between calls, there is no network and no access to this computer's files, and "
                  "it is stopped after %.8g seconds",
                  tool_seconds(settings->limits.wall_ms));
    if (settings->wall_max_ms > settings->limits.wall_ms)
        buffer_format(&text, " unless timeout_seconds says otherwise (at most %.8g)",
                      tool_seconds(settings->wall_max_ms));
    buffer_append_text(&text, ".");
    json_key(writer, "description");
    json_string(writer, text.data, text.length);
}

/* "minimum" and not "exclusiveMinimum", which the APIs of some models refuse in a schema. */
static void write_timeout_schema(struct json_writer *writer, const struct settings *settings)
{
    OWNED(buffer_release) struct buffer text = BUFFER(256);
    buffer_format(&text,
                  "How many seconds the program may run: %.8g if this is left out, at most %.8g.",
                  tool_seconds(settings->limits.wall_ms), tool_seconds(settings->wall_max_ms));
    json_begin_object(writer);
    json_text_member(writer, "type", "number");
    json_key(writer, "description");
    json_string(writer, text.data, text.length);
    json_key(writer, "minimum");
    json_double(writer, tool_seconds(1));
    json_key(writer, "maximum");
    json_double(writer, tool_seconds(settings->wall_max_ms));
    json_end_object(writer);
}

static void write_input_schema(struct json_writer *writer, const struct tool *tool,
                               const struct settings *settings)
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
    json_key(writer, "examples");
    json_begin_array(writer);
    json_text(writer, tool->example);
    json_end_array(writer);
    json_end_object(writer);
    json_key(writer, "timeout_seconds");
    write_timeout_schema(writer, settings);
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

static void write_tool(struct json_writer *writer, enum version version, const struct tool *tool,
                       const struct settings *settings)
{
    json_begin_object(writer);
    json_text_member(writer, "name", tool->name);
    if (version >= VERSION_2025_06_18)
        json_text_member(writer, "title", tool->title);
    write_description(writer, tool, settings);
    write_input_schema(writer, tool, settings);
    if (version >= VERSION_2025_06_18 && settings->result_format == RESULT_STRUCTURED) {
        json_key(writer, "outputSchema");
        result_text_write_schema(writer);
    }
    if (version >= VERSION_2025_03_26)
        write_annotations(writer, tool);
    icon_write_member(writer, version);
    json_end_object(writer);
}

static void write_tools(struct json_writer *writer, enum version version, const void *data)
{
    json_key(writer, "tools");
    json_begin_array(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++)
        if (is_offered(data, &tools[i]))
            write_tool(writer, version, &tools[i], data);
    json_end_array(writer);
}

void tools_list(struct server *server, const struct rpc_message *message, const struct reply *reply)
{
    const struct json_value *cursor = json_member(message->params, "cursor");
    if (cursor != NULL && cursor->type != JSON_NULL)
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "unknown cursor: the list of tools has one page");
    else
        reply_result(reply, &(struct result_body){.write = write_tools, .data = server->settings});
}
