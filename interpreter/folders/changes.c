#include "interpreter/folders/changes.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <string.h>

/* A byte that is not UTF-8 becomes a character of three. */
#define PATH_BYTES_MAX (3 * CHANGES_PATH_SIZE)

void changes_release(struct changes *changes)
{
    for (size_t i = 0; i < changes->file_count; i++)
        free(changes->files[i].path);
    for (size_t i = 0; i < changes->left_out_count; i++) {
        free(changes->left_out[i].path);
        free(changes->left_out[i].reason);
    }
    free(changes->files);
    free(changes->left_out);
    for (size_t i = 0; i < changes->undone_count; i++)
        free(changes->undone[i]);
    free(changes->undone);
    fd_close(&changes->patch_fd);
    *changes = CHANGES_NONE;
}

void changed_file_write(struct json_writer *writer, const struct changed_file *file)
{
    json_text_member(writer, "path", file->path);
    json_key(writer, "status");
    json_string(writer, &file->status, 1);
    json_number_member(writer, "added", (int64_t)file->added);
    json_number_member(writer, "removed", (int64_t)file->removed);
    json_boolean_member(writer, "binary", file->is_binary);
}

void left_out_write(struct json_writer *writer, const struct changes *changes)
{
    json_key(writer, "left_out");
    json_begin_array(writer);
    for (size_t i = 0; i < changes->left_out_count; i++) {
        json_begin_object(writer);
        json_text_member(writer, "path", changes->left_out[i].path);
        json_text_member(writer, "reason", changes->left_out[i].reason);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_number_member(writer, "more_left_out", (int64_t)changes->more_left_out);
}

/* Exactly the members named; 0 or -EINVAL. */
static int check_members(const struct json_value *object, const char *const *names, size_t count)
{
    if (object == NULL || object->type != JSON_OBJECT || object->count != count)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (json_member(object, names[i]) == NULL)
            return -EINVAL;
    }
    return 0;
}

/* A string without NUL, of `minimum` to `maximum` bytes. */
static int read_text(const struct json_value *value, size_t minimum, size_t maximum,
                     char **ret_text)
{
    if (value == NULL || value->type != JSON_STRING || value->length < minimum ||
        value->length > maximum || strlen(value->text) != value->length)
        return -EINVAL;
    *ret_text = strdup(value->text);
    return *ret_text == NULL ? -ENOMEM : 0;
}

static int read_count(const struct json_value *value, uint64_t maximum, uint64_t *ret_count)
{
    int64_t number = -1;
    if (json_integer(value, &number) < 0 || number < 0 || (uint64_t)number > maximum)
        return -EINVAL;
    *ret_count = (uint64_t)number;
    return 0;
}

static int read_status(const struct json_value *value, char *ret_status)
{
    if (!json_is(value, "A") && !json_is(value, "M") && !json_is(value, "D"))
        return -EINVAL;
    *ret_status = value->text[0];
    return 0;
}

static int read_version(const struct json_value *value, char version[CHANGES_VERSION_SIZE])
{
    if (value->type != JSON_STRING || value->length >= CHANGES_VERSION_SIZE)
        return -EINVAL;
    memcpy(version, value->text, value->length + 1);
    return 0;
}

static int read_file(const struct json_value *value, struct changed_file *file)
{
    static const char *const names[] = {"path", "status", "added", "removed", "binary", "version"};
    int r = check_members(value, names, ARRAY_LENGTH(names));
    if (r == 0)
        r = read_status(json_member(value, "status"), &file->status);
    if (r == 0)
        r = read_count(json_member(value, "added"), CHANGES_FILE_MAX, &file->added);
    if (r == 0)
        r = read_count(json_member(value, "removed"), CHANGES_FILE_MAX, &file->removed);
    if (r < 0)
        return r;
    const struct json_value *binary = json_member(value, "binary");
    if (binary->type != JSON_BOOLEAN)
        return -EINVAL;
    file->is_binary = binary->boolean;
    file->is_by_call = true;
    r = read_version(json_member(value, "version"), file->version);
    if (r < 0)
        return r;
    return read_text(json_member(value, "path"), 1, PATH_BYTES_MAX, &file->path);
}

static int read_left_out(const struct json_value *value, struct left_out_file *file)
{
    static const char *const names[] = {"path", "reason"};
    int r = check_members(value, names, ARRAY_LENGTH(names));
    if (r == 0)
        r = read_text(json_member(value, "reason"), 1, CHANGES_REASON_SIZE, &file->reason);
    if (r < 0)
        return r;
    utf8_make_plain(file->reason, false);
    file->is_by_call = true;
    return read_text(json_member(value, "path"), 0, PATH_BYTES_MAX, &file->path);
}

static int read_files(const struct json_value *list, struct changes *changes)
{
    if (list->type != JSON_ARRAY || list->count > CHANGES_TOLD_MAX)
        return -EINVAL;
    changes->files = calloc(list->count + 1, sizeof(*changes->files));
    int r = changes->files == NULL ? -ENOMEM : 0;
    for (const struct json_value *value = list->first; r == 0 && value != NULL; value = value->next)
        r = read_file(value, &changes->files[changes->file_count++]);
    return r;
}

static int read_all_left_out(const struct json_value *list, struct changes *changes)
{
    if (list->type != JSON_ARRAY || list->count > CHANGES_LEFT_OUT_MAX)
        return -EINVAL;
    changes->left_out = calloc(list->count + 1, sizeof(*changes->left_out));
    int r = changes->left_out == NULL ? -ENOMEM : 0;
    for (const struct json_value *value = list->first; r == 0 && value != NULL; value = value->next)
        r = read_left_out(value, &changes->left_out[changes->left_out_count++]);
    return r;
}

static int read_report(const struct json_value *report, struct changes *changes)
{
    static const char *const names[] = {"files", "more_files", "left_out", "more_left_out",
                                        "patch_bytes"};
    int r = check_members(report, names, ARRAY_LENGTH(names));
    if (r == 0)
        r = read_files(json_member(report, "files"), changes);
    if (r == 0)
        r = read_all_left_out(json_member(report, "left_out"), changes);
    if (r == 0)
        r = read_count(json_member(report, "more_files"), CHANGES_COUNT_MAX, &changes->more_files);
    if (r == 0)
        r = read_count(json_member(report, "more_left_out"), UINT32_MAX, &changes->more_left_out);
    if (r == 0)
        r = read_count(json_member(report, "patch_bytes"), CHANGES_PATCH_MAX,
                       &changes->patch_bytes);
    bool has_files = changes->file_count + changes->more_files > 0;
    return r == 0 && has_files != (changes->patch_bytes > 0) ? -EINVAL : r;
}

static int explain(int r, struct fault *fault)
{
    return fault_set(fault, r == -ENOMEM ? ENOMEM : EINVAL,
                     r == -ENOMEM ? "no memory for the report of changes"
                                  : "the report of changes is not what it should be");
}

int changes_read(const char *text, size_t length, struct changes *ret_changes, struct fault *fault)
{
    OWNED(json_release) struct json *json = NULL;
    int r = length <= CHANGES_REPORT_MAX ? json_parse(text, length, &json, NULL) : -EINVAL;
    return r < 0 ? explain(r, fault) : changes_read_value(json_root(json), ret_changes, fault);
}

int changes_read_value(const struct json_value *report, struct changes *ret_changes,
                       struct fault *fault)
{
    OWNED(changes_release) struct changes changes = CHANGES_NONE;
    const struct json_value *reported = json_member(report, "fault");
    if (reported != NULL && reported->type == JSON_STRING && reported->text[0] != '\0')
        return fault_set(fault, EPROTO, "%s", reported->text);
    int r = read_report(report, &changes);
    if (r < 0)
        return explain(r, fault);
    changes.is_by_call =
        changes.file_count + changes.more_files + changes.left_out_count + changes.more_left_out >
        0;
    *ret_changes = changes;
    changes = CHANGES_NONE;
    return 0;
}
