#include "interpreter/input_files.h"
#include "interpreter/base/bounds.h"
#include "interpreter/languages/language.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <string.h>

/* A member that may be left out: NULL also for null. */
static const struct json_value *member_of(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    return value == NULL || value->type == JSON_NULL ? NULL : value;
}

static int check_members(const struct json_value *object, size_t number, struct fault *fault)
{
    if (object->type != JSON_OBJECT)
        return fault_set(fault, EINVAL, "entry %zu must be an object with \"name\" and \"text\"",
                         number);
    for (const struct json_value *member = object->first; member != NULL; member = member->next) {
        if (!json_key_is(member, "name") && !json_key_is(member, "text") &&
            !json_key_is(member, "base64"))
            return fault_set(fault, EINVAL,
                             "entry %zu has a member \"%s\": it may have \"name\" and \"text\", "
                             "or \"name\" and \"base64\"",
                             number, visible_name(member->key).text);
    }
    return 0;
}

/* The names of the programs of all languages, so that a file fits whichever tool it is given to. */
static bool is_name_of_program(const char *name)
{
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        if (run_input_is_code(name, languages[i]->code_name))
            return true;
    return false;
}

static int read_name(const struct json_value *object, size_t number, const char **ret_name,
                     struct fault *fault)
{
    const struct json_value *name = member_of(object, "name");
    if (name == NULL || name->type != JSON_STRING)
        return fault_set(fault, EINVAL,
                         "entry %zu needs a \"name\", a string: a relative path such as "
                         "data/input.csv",
                         number);
    if (strlen(name->text) != name->length)
        return fault_set(fault, EINVAL, "the name of entry %zu has a NUL in it: leave it out",
                         number);
    if (is_name_of_program(name->text))
        return fault_set(fault, EINVAL,
                         "the file name \"%s\" is kept for programs: choose another one",
                         visible_name(name->text).text);
    *ret_name = name->text;
    return 0;
}

static int decode(const struct json_value *base64, struct run_input *file, char **ret_decoded,
                  struct fault *fault)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(LINE_IN_MAX);
    size_t wrong = 0;
    int r = base64_decode(&bytes, base64->text, base64->length, &wrong);
    if (r == -EINVAL && wrong == base64->length)
        return fault_set(fault, EINVAL,
                         "the \"base64\" of \"%s\" has %zu characters, which is no multiple of "
                         "4: something is missing, perhaps the padding with =",
                         visible_name(file->name).text, wrong);
    if (r == -EINVAL)
        return fault_set(fault, EINVAL,
                         "the \"base64\" of \"%s\" is wrong at character %zu: it needs the "
                         "alphabet A-Z a-z 0-9 + /, padding with =, and no line breaks",
                         visible_name(file->name).text, wrong + 1);
    if (r < 0)
        return fault_set(fault, -r, "no memory for \"%s\"", visible_name(file->name).text);
    file->length = bytes.length;
    file->bytes = *ret_decoded = pointer_take(&bytes.data);
    return 0;
}

static int read_bytes(const struct json_value *object, struct run_input *file, char **ret_decoded,
                      struct fault *fault)
{
    const struct json_value *text = member_of(object, "text");
    const struct json_value *base64 = member_of(object, "base64");
    if (text != NULL && base64 != NULL)
        return fault_set(fault, EINVAL, "\"%s\" has both \"text\" and \"base64\": give one of them",
                         visible_name(file->name).text);
    if (text == NULL && base64 == NULL)
        return fault_set(fault, EINVAL,
                         "\"%s\" has no content: give it a \"text\", which may be empty",
                         visible_name(file->name).text);
    const struct json_value *given = text != NULL ? text : base64;
    if (given->type != JSON_STRING)
        return fault_set(fault, EINVAL, "the \"%s\" of \"%s\" must be a string",
                         text != NULL ? "text" : "base64", visible_name(file->name).text);
    if (text == NULL)
        return decode(base64, file, ret_decoded, fault);
    file->bytes = text->text;
    file->length = text->length;
    return 0;
}

static int read_entries(struct input_files *files, const struct json_value *array,
                        struct fault *fault)
{
    for (const struct json_value *entry = array->first; entry != NULL; entry = entry->next) {
        size_t at = files->count++;
        struct run_input *file = &files->files[at];
        int r = check_members(entry, at + 1, fault);
        if (r == 0)
            r = read_name(entry, at + 1, &file->name, fault);
        if (r == 0)
            r = read_bytes(entry, file, &files->decoded[at], fault);
        if (r < 0)
            return r;
    }
    return 0;
}

int input_files_read(struct input_files *files, const struct json_value *array, struct fault *fault)
{
    *files = (struct input_files){0};
    if (array->type != JSON_ARRAY)
        return fault_set(
            fault, EINVAL,
            "it must be an array of objects such as {\"name\": \"data.csv\", \"text\": "
            "\"a,b\"}");
    int r = run_inputs_check_count(array->count, fault);
    if (r < 0 || array->count == 0)
        return r;
    files->files = calloc(array->count, sizeof(*files->files));
    files->decoded = calloc(array->count, sizeof(*files->decoded));
    if (files->files == NULL || files->decoded == NULL)
        return fault_set(fault, ENOMEM, "no memory for %zu files", array->count);
    r = read_entries(files, array, fault);
    return r < 0 ? r : run_inputs_check(files->files, files->count, NULL, fault);
}

void input_files_release(struct input_files *files)
{
    for (size_t i = 0; files->decoded != NULL && i < files->count; i++)
        free(files->decoded[i]);
    free(files->decoded);
    free(files->files);
    *files = (struct input_files){0};
}

static void write_member(struct json_writer *writer, const char *name, const char *description)
{
    json_key(writer, name);
    json_begin_object(writer);
    json_text_member(writer, "type", "string");
    json_text_member(writer, "description", description);
    json_end_object(writer);
}

void input_files_write_schema(struct json_writer *writer)
{
    json_text_member(writer, "type", "array");
    json_text_member(writer, "description", "Text files to put into its directory first.");
    json_key(writer, "items");
    json_begin_object(writer);
    json_text_member(writer, "type", "object");
    json_key(writer, "properties");
    json_begin_object(writer);
    write_member(writer, "name", "Relative path, such as data/input.csv.");
    write_member(writer, "text", "The content.");
    write_member(writer, "base64",
                 "The content in place of text, for programs that call this tool. Never retype "
                 "binary data.");
    json_end_object(writer);
    json_key(writer, "required");
    json_begin_array(writer);
    json_text(writer, "name");
    json_end_array(writer);
    json_boolean_member(writer, "additionalProperties", false);
    json_end_object(writer);
}
