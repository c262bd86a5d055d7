#include "mcp/tools/code_arguments.h"
#include "mcp/tools/code_call.h"
#include "mcp/tools/code_tool.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <string.h>

#define NAMES_MAX 1024

/* Those that are there; NULL without memory. */
static const char *list_offered(const struct settings *settings, struct buffer *text)
{
    for (size_t i = 0; i < language_count; i++)
        if (settings_offer(settings, languages[i]))
            buffer_format(text, "%s%s", text->length > 0 ? ", " : "", languages[i]->name);
    return buffer_string(text);
}

static const struct language *find_language(const struct json_value *name)
{
    bool is_text = name != NULL && name->type == JSON_STRING && strlen(name->text) == name->length;
    return is_text ? language_find(name->text) : NULL;
}

/* What a person can do about a language that is known and not there; "" otherwise. */
static const char *explain_absence(const struct settings *settings, const struct language *language,
                                   struct buffer *text)
{
    if (language != NULL)
        buffer_format(text, ", whose image is not there (code-sandbox-mcp fetch %s)",
                      settings_image(settings, language));
    const char *words = buffer_string(text);
    return words != NULL ? words : "";
}

extern const struct tool tool_code;

const struct tool *tool_code_with(const struct language *language)
{
    static struct tool tools[LANGUAGES_MAX];
    struct tool *tool = &tools[language_place(language)];
    *tool = tool_code;
    tool->language = language;
    return tool;
}

static void call(struct context *context, const struct tool_request *request)
{
    const struct json_value *name = json_member(request->arguments, "language");
    const struct language *language = find_language(name);
    struct tool_request forwarded = *request;
    if (language != NULL && settings_offer(context->settings, language)) {
        forwarded.tool = tool_code_with(language);
        code_call_begin(context, &forwarded);
        return;
    }
    OWNED(buffer_release) struct buffer names = BUFFER(NAMES_MAX);
    OWNED(buffer_release) struct buffer absence = BUFFER(NAMES_MAX);
    const char *known = list_offered(context->settings, &names);
    bool is_text = name != NULL && name->type == JSON_STRING;
    struct fault fault = {0};
    fault_set(&fault, EINVAL, "the argument \"language\" %s%s%s: it is one of %s",
              is_text ? "cannot be " : "must be the name of a language",
              is_text ? visible_name(name->text).text : "",
              explain_absence(context->settings, language, &absence),
              known != NULL ? known : "others");
    code_call_refuse(context, request, &fault);
}

const struct tool tool_code = {
    .name = "run_code",
    .title = "Run code in another language",
    .runs_code = true,
    .names_language = true,
    .is_offered = code_tool_is_offered,
    .describe = code_tool_describe,
    .write_schema = code_arguments_write_schema,
    .call = call,
};
