#include "fleet/call_line.h"

#include "mcp/tools/tool_list.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <string.h>

#define DECODING_ROOM 4 /* base64_decode() rounds up */

#define OWN_MEMBERS "id", "language", "tests", "compare", "stop_at_first_failure", "parallel"

static const char *const own_members[] = {OWN_MEMBERS, NULL};
static const char *const carried_members[] = {OWN_MEMBERS, "carry", NULL};

int call_line_id(const struct json_value *id, struct buffer *ret_text, struct fault *fault)
{
    int64_t integer;
    OWNED(buffer_release) struct buffer text = BUFFER(CALL_ID_MAX);
    if (id->type != JSON_STRING && json_integer(id, &integer) != 0)
        return fault_set(fault, EINVAL, "\"id\" must be a string or an integer of 64 bits");
    struct json_writer *writer = NULL;
    int r = json_writer_open(&text, &writer);
    if (r == 0 && id->written != NULL)
        json_raw(writer, id->written, strlen(id->written));
    else if (r == 0)
        json_copy(writer, id);
    if (r == 0)
        r = json_writer_close(writer);
    if (r == -ENOBUFS)
        return fault_set(fault, EINVAL, "\"id\" is longer than %d bytes", CALL_ID_MAX);
    if (r < 0)
        return fault_set(fault, -r, "reading \"id\": %m");
    buffer_release(ret_text);
    *ret_text = text;
    text = BUFFER(0);
    return 0;
}

static int read_language(struct call_line *call, const struct json_value *language,
                         struct fault *fault)
{
    char names[LANGUAGE_NAMES_SIZE];
    if (language == NULL || language->type != JSON_STRING)
        return fault_set(fault, EINVAL, "\"language\" is %s: it must be %s",
                         language == NULL ? "missing" : "not a string", language_names(names));
    const struct language *found = language_find(language->text);
    if (found == NULL || !json_is(language, found->name))
        return fault_set(fault, EINVAL, "\"language\" must be %s, not \"%s\"",
                         language_names(names), visible_name(language->text).text);
    call->arguments.snippet.language = found;
    return 0;
}

static int read_members(struct call_line *call, const struct settings *settings,
                        const struct json_value *object, const char *const *others,
                        struct fault *fault)
{
    const struct json_value *id = json_member(object, "id");
    int r = 0;
    if (object->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "the line is not a JSON object");
    if (id != NULL && id->type != JSON_NULL)
        r = call_line_id(id, &call->id, fault);
    if (r == 0)
        r = read_language(call, json_member(object, "language"), fault);
    if (r < 0)
        return r;
    const struct language *language = call->arguments.snippet.language;
    struct tool tool = *tool_list_find_language(language);
    tool.name = "a line";
    const struct code_arguments_form form = {&tool, settings, others};
    r = code_arguments_read(&call->arguments, &form, object, fault);
    call->arguments.snippet.language = language;
    return r < 0 ? r : test_set_read(object, &call->tests, fault);
}

int call_line_read(struct call_line *call, const struct settings *settings, const char *line,
                   size_t length, struct fault *fault)
{
    *call = (struct call_line){0};
    int r = json_parse(line, length, &call->json, fault);
    return r < 0 ? r : read_members(call, settings, json_root(call->json), own_members, fault);
}

static int read_stdin(struct call_line *call, const struct json_value *text, struct fault *fault)
{
    size_t wrong;
    call->stdin_bytes = BUFFER(STDIN_MAX + DECODING_ROOM);
    if (text->type != JSON_STRING ||
        base64_decode(&call->stdin_bytes, text->text, text->length, &wrong) < 0 ||
        call->stdin_bytes.length > STDIN_MAX)
        return fault_set(fault, EINVAL,
                         "the \"stdin\" of \"carry\" must be base64, of at most %llu MiB",
                         (unsigned long long)(STDIN_MAX / MEBIBYTE));
    call->arguments.snippet.stdin_source = (struct run_stdin){
        .kind = STDIN_BYTES, .bytes = call->stdin_bytes.data, .length = call->stdin_bytes.length};
    return 0;
}

static int read_program_arguments(struct call_line *call, const struct json_value *array,
                                  struct fault *fault)
{
    if (array->type != JSON_ARRAY || array->count > ARGUMENTS_MAX)
        return fault_set(fault, EINVAL, "the \"arguments\" of \"carry\" must be an array");
    if (array->count == 0)
        return 0;
    call->program_arguments = calloc(array->count + 1, sizeof(*call->program_arguments));
    if (call->program_arguments == NULL)
        return fault_set(fault, ENOMEM, "reading arguments: %m");
    size_t count = 0;
    for (const struct json_value *item = array->first; item != NULL; item = item->next) {
        if (item->type != JSON_STRING || strlen(item->text) != item->length)
            return fault_set(fault, EINVAL, "an argument of the program must be a string");
        call->program_arguments[count++] = item->text;
    }
    call->arguments.snippet.arguments = call->program_arguments;
    return 0;
}

static int read_compile_time(struct call_line *call, const struct json_value *number,
                             struct fault *fault)
{
    int64_t *milliseconds = &call->arguments.snippet.compile_ms;
    bool is_right = json_integer(number, milliseconds) == 0 && *milliseconds > 0 &&
                    *milliseconds <= LANGUAGE_COMPILE_SECONDS_MAX * INT64_C(1000);
    return is_right ? 0 : fault_set(fault, EINVAL, "\"compile_ms\" is out of range");
}

static int read_carry(struct call_line *call, const struct json_value *carry, struct fault *fault)
{
    int r = 0;
    if (carry->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "\"carry\" must be an object");
    call->is_carried = true;
    for (const struct json_value *member = carry->first; r == 0 && member != NULL;
         member = member->next) {
        if (json_key_is(member, "stdin"))
            r = read_stdin(call, member, fault);
        else if (json_key_is(member, "arguments"))
            r = read_program_arguments(call, member, fault);
        else if (json_key_is(member, "files") && member->type == JSON_BOOLEAN)
            call->wants_files = member->boolean;
        else if (json_key_is(member, "compile_ms"))
            r = read_compile_time(call, member, fault);
        else
            r = fault_set(fault, EINVAL, "\"carry\" has an unknown member");
    }
    return r;
}

int call_line_read_carried(struct call_line *call, const struct settings *settings,
                           const char *line, size_t length, struct fault *fault)
{
    *call = (struct call_line){0};
    int r = json_parse(line, length, &call->json, fault);
    if (r == 0)
        r = read_members(call, settings, json_root(call->json), carried_members, fault);
    if (r == 0)
        r = json_check_unique(json_root(call->json), fault);
    const struct json_value *carry = json_member(r == 0 ? json_root(call->json) : NULL, "carry");
    return carry != NULL ? read_carry(call, carry, fault) : r;
}

void call_line_release(struct call_line *call)
{
    code_arguments_release(&call->arguments);
    test_set_release(&call->tests);
    buffer_release(&call->stdin_bytes);
    free(call->program_arguments);
    buffer_release(&call->id);
    json_release(&call->json);
}
