#include "mcp/tools/code_arguments.h"
#include "interpreter/code_text.h"
#include "interpreter/settings/quantity.h"
#include "mcp/tools/code_tool.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_MAX 256
#define NAMES_MAX 1024 /* of all arguments, in a sentence */

struct call {
    const struct tool *tool;
    const struct settings *settings;
    const char *const *others; /* members that somebody else reads; or NULL */
};

struct code_argument {
    const char *name;
    bool is_required;
    /* Takes a value, which is null only where the argument is required. */
    int (*read)(struct code_arguments *arguments, const struct call *call,
                const struct json_value *value, struct fault *fault);
    void (*write_schema)(const struct call *call, struct json_writer *writer); /* members */
    bool (*is_offered)(const struct call *call); /* NULL: always */
};

static int read_code(struct code_arguments *arguments, const struct call *call,
                     const struct json_value *code, struct fault *fault)
{
    if (code->type != JSON_STRING)
        return fault_set(fault, EINVAL,
                         "the argument \"code\" %s: give %s the program's text as a string",
                         code->type == JSON_NULL ? "is null" : "is not a string", call->tool->name);
    if (code->length > CODE_MAX)
        return fault_set(fault, EINVAL, "the code is longer than %s, the most that is accepted",
                         quantity_size_text(CODE_MAX).text);
    struct code_text text = code_text_unfence((struct code_text){code->text, code->length});
    const enum code_repair repair = call->tool->language->repair;
    int r = 0;
    if (repair == CODE_DEDENTED)
        r = code_text_dedent(&text, &arguments->code);
    else if (repair == CODE_WITH_NEWLINES)
        r = code_text_end_lines(&text, &arguments->code);
    if (r < 0)
        return fault_set(fault, ENOMEM, "out of memory for a program");
    arguments->snippet.code = text.bytes;
    arguments->snippet.length = text.length;
    return 0;
}

static bool has_choice(const struct call *call)
{
    return call->tool->names_language;
}

/* The caller has read it, to find the tool. */
static int skip_language(struct code_arguments *arguments, const struct call *call,
                         const struct json_value *value, struct fault *fault)
{
    (void)arguments, (void)call, (void)value, (void)fault;
    return 0;
}

static void write_language_schema(const struct call *call, struct json_writer *writer)
{
    json_text_member(writer, "type", "string");
    json_text_member(writer, "description", "The language of the program.");
    json_key(writer, "enum");
    json_begin_array(writer);
    for (size_t i = 0; i < language_count; i++)
        if (settings_offer(call->settings, languages[i]))
            json_text(writer, languages[i]->name);
    json_end_array(writer);
}

/* Of the choice, the first that is there and has no tool of its own. */
static const char *example_of(const struct call *call)
{
    size_t i = LANGUAGE_COUNT;
    while (has_choice(call) && i + 1 < language_count &&
           !settings_offer(call->settings, languages[i]))
        i++;
    return has_choice(call) ? languages[i]->example : call->tool->language->example;
}

static void write_code_schema(const struct call *call, struct json_writer *writer)
{
    json_text_member(writer, "type", "string");
    json_text_member(writer, "description",
                     has_choice(call) ? "The whole program." : call->tool->language->code);
    json_key(writer, "examples");
    json_begin_array(writer);
    json_text(writer, example_of(call));
    json_end_array(writer);
}

/* A number, or text that is one: what a model writes in quotes can mean nothing else. */
static int read_timeout(struct code_arguments *arguments, const struct call *call,
                        const struct json_value *timeout, struct fault *fault)
{
    const struct quantity quantity = {
        .what = "the argument \"timeout_seconds\"",
        .unit = "seconds",
        .low = 1,
        .high = (uint64_t)call->settings->wall_max_ms,
    };
    bool is_text = timeout->type == JSON_STRING && strlen(timeout->text) == timeout->length;
    if (timeout->type != JSON_NUMBER && !is_text)
        return fault_set(fault, EINVAL, "%s must be a number, at most %.8g", quantity.what,
                         quantity_seconds(call->settings->wall_max_ms));
    uint64_t milliseconds = 0;
    int r = quantity_read_thousandths(&quantity, timeout->text, &milliseconds, fault);
    arguments->snippet.wall_ms = (int64_t)milliseconds;
    return r;
}

/* "minimum" and not "exclusiveMinimum", which the APIs of some models refuse in a schema. */
static void write_timeout_schema(const struct call *call, struct json_writer *writer)
{
    const struct settings *settings = call->settings;
    OWNED(buffer_release) struct buffer text = BUFFER(DESCRIPTION_MAX);
    buffer_format(&text, "Time limit in seconds: %.8g if left out, at most %.8g.",
                  quantity_seconds(settings->limits.wall_ms),
                  quantity_seconds(settings->wall_max_ms));
    json_text_member(writer, "type", "number");
    json_key(writer, "description");
    json_string(writer, text.data, text.length);
    json_key(writer, "minimum");
    json_double(writer, quantity_seconds(1));
    json_key(writer, "maximum");
    json_double(writer, quantity_seconds(settings->wall_max_ms));
}

static int read_stdin(struct code_arguments *arguments, const struct call *call,
                      const struct json_value *text, struct fault *fault)
{
    (void)call;
    if (text->type != JSON_STRING)
        return fault_set(fault, EINVAL,
                         "the argument \"stdin\" must be a string: the text that the program reads "
                         "from its standard input");
    if (text->length > STDIN_MAX)
        return fault_set(fault, EINVAL,
                         "the argument \"stdin\" is longer than %s, the most that is accepted",
                         quantity_size_text(STDIN_MAX).text);
    arguments->snippet.stdin_source = (struct run_stdin){
        .kind = STDIN_BYTES,
        .bytes = text->text,
        .length = text->length,
    };
    return 0;
}

static void write_stdin_schema(const struct call *call, struct json_writer *writer)
{
    (void)call;
    json_text_member(writer, "type", "string");
    json_text_member(writer, "description",
                     "What the program reads from its standard input; empty if this is left out.");
}

static int read_files(struct code_arguments *arguments, const struct call *call,
                      const struct json_value *array, struct fault *fault)
{
    (void)call;
    int r = input_files_read(&arguments->files, array, fault);
    if (r < 0) {
        fault_prefix(fault, "the argument \"files\"");
        return r;
    }
    arguments->snippet.inputs = arguments->files.files;
    arguments->snippet.input_count = arguments->files.count;
    return 0;
}

static void write_files_schema(const struct call *call, struct json_writer *writer)
{
    (void)call;
    input_files_write_schema(writer);
}

static int read_session(struct code_arguments *arguments, const struct call *call,
                        const struct json_value *handle, struct fault *fault)
{
    (void)call;
    if (handle->type != JSON_STRING || handle->length == 0 ||
        memchr(handle->text, '\0', handle->length) != NULL)
        return fault_set(fault, EINVAL,
                         "the argument \"session\" must be a string: \"" SESSION_NEW
                         "\" to start a session, or the handle of one; leave it out for a fresh "
                         "process");
    arguments->session = handle->text;
    return 0;
}

static void write_session_schema(const struct call *call, struct json_writer *writer)
{
    const struct session_runner *runner = call->tool->language->session;
    OWNED(buffer_release) struct buffer text = BUFFER(DESCRIPTION_MAX);
    buffer_format(
        &text,
        "Leave out for a fresh process. \"" SESSION_NEW
        "\" starts a session; the result has its handle, for any tool to go on with its %s.%s",
        runner->kept,
        runner->leaves_copies && call->settings->session_checkpoints > 0
            ? " HANDLE@N goes back to call N."
            : "");
    json_text_member(writer, "type", "string");
    json_key(writer, "description");
    json_string(writer, text.data, text.length);
}

static bool has_sessions(const struct call *call)
{
    return call->settings->sessions > 0 && !has_choice(call) &&
           call->tool->language->session != NULL;
}

/* In the order in which clients see them. */
static const struct code_argument table[] = {
    {"language", true, skip_language, write_language_schema, has_choice},
    {"code", true, read_code, write_code_schema, NULL},
    {"timeout_seconds", false, read_timeout, write_timeout_schema, NULL},
    {"session", false, read_session, write_session_schema, has_sessions},
    {"stdin", false, read_stdin, write_stdin_schema, NULL},
    {"files", false, read_files, write_files_schema, NULL},
};

static bool is_offered(const struct code_argument *argument, const struct call *call)
{
    return argument->is_offered == NULL || argument->is_offered(call);
}

/* "\"code\" and, where needed, \"timeout_seconds\", \"stdin\"": all rows, as a person lists them. */
static int list_names(const struct call *call, struct buffer *text)
{
    int r = 0;
    const struct code_argument *before = NULL;
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(table); i++) {
        if (!is_offered(&table[i], call))
            continue;
        bool begins_optional = before != NULL && before->is_required && !table[i].is_required;
        r = buffer_format(text, "%s\"%s\"",
                          before == NULL    ? ""
                          : begins_optional ? " and, where needed, "
                                            : ", ",
                          table[i].name);
        before = &table[i];
    }
    return r;
}

static bool is_known(const struct call *call, const struct json_value *member)
{
    for (const char *const *other = call->others; other != NULL && *other != NULL; other++)
        if (json_key_is(member, *other))
            return true;
    size_t i = 0;
    while (i < ARRAY_LENGTH(table) &&
           !(json_key_is(member, table[i].name) && is_offered(&table[i], call)))
        i++;
    return i < ARRAY_LENGTH(table);
}

static int refuse_unknown(const struct call *call, const struct json_value *object,
                          struct fault *fault)
{
    const struct json_value *member = object != NULL ? object->first : NULL;
    while (member != NULL && is_known(call, member))
        member = member->next;
    if (member == NULL)
        return 0;
    OWNED(buffer_release) struct buffer names = BUFFER(NAMES_MAX);
    const char *text = list_names(call, &names) == 0 ? buffer_string(&names) : NULL;
    return fault_set(fault, EINVAL, "%s has no argument \"%s\": it has %s", call->tool->name,
                     visible_name(member->key).text, text != NULL ? text : "others");
}

int code_arguments_read(struct code_arguments *arguments, const struct code_arguments_form *form,
                        const struct json_value *object, struct fault *fault)
{
    const struct call call = {form->tool, form->settings, form->others};
    *arguments = (struct code_arguments){0};
    int r = refuse_unknown(&call, object, fault);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(table); i++) {
        if (!is_offered(&table[i], &call))
            continue;
        const struct json_value *value = json_member(object, table[i].name);
        if (value == NULL && table[i].is_required)
            r = fault_set(fault, EINVAL, "the argument \"%s\" is missing: %s needs it",
                          table[i].name, form->tool->name);
        /* Clients that fill in every argument have null for none. */
        else if (value != NULL && (value->type != JSON_NULL || table[i].is_required))
            r = table[i].read(arguments, &call, value, fault);
    }
    return r;
}

void code_arguments_release(struct code_arguments *arguments)
{
    input_files_release(&arguments->files);
    free(arguments->code);
    arguments->code = NULL;
}

void code_arguments_write_schema(const struct tool *tool, const struct settings *settings,
                                 struct json_writer *writer)
{
    const struct call call = {.tool = tool, .settings = settings};
    json_begin_object(writer);
    json_text_member(writer, "type", "object");
    json_key(writer, "properties");
    json_begin_object(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        if (!is_offered(&table[i], &call))
            continue;
        json_key(writer, table[i].name);
        json_begin_object(writer);
        table[i].write_schema(&call, writer);
        json_end_object(writer);
    }
    json_end_object(writer);
    json_key(writer, "required");
    json_begin_array(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
        if (table[i].is_required && is_offered(&table[i], &call))
            json_text(writer, table[i].name);
    json_end_array(writer);
    json_boolean_member(writer, "additionalProperties", false);
    json_end_object(writer);
}
