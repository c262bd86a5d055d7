#include "interpreter/folders/carried_changes.h"

#include "sandbox/base/base64.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4)
#define JSON_BYTE_MAX 6  /* of a text, in JSON */
#define MEMBERS_ROOM 256 /* what is in an object besides its texts */
#define DECODING_ROOM 4 /* base64_decode() rounds up */

static void write_files(struct json_writer *writer, const struct changes *changes)
{
    json_key(writer, "files");
    json_begin_array(writer);
    for (size_t i = 0; i < changes->file_count; i++) {
        json_begin_object(writer);
        changed_file_write(writer, &changes->files[i]);
        json_text_member(writer, "version", changes->files[i].version);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_number_member(writer, "more_files", (int64_t)changes->more_files);
}

static void write_report(struct json_writer *writer, const struct changes *changes)
{
    json_key(writer, "report");
    json_begin_object(writer);
    write_files(writer, changes);
    left_out_write(writer, changes);
    json_number_member(writer, "patch_bytes", (int64_t)changes->patch_bytes);
    json_end_object(writer);
}

/* No fewer bytes than the report takes. */
static size_t report_room(const struct changes *changes)
{
    size_t room = MEMBERS_ROOM;
    for (size_t i = 0; i < changes->file_count; i++)
        room +=
            JSON_BYTE_MAX * (strlen(changes->files[i].path) + CHANGES_VERSION_SIZE) + MEMBERS_ROOM;
    for (size_t i = 0; i < changes->left_out_count; i++)
        room += JSON_BYTE_MAX *
                    (strlen(changes->left_out[i].path) + strlen(changes->left_out[i].reason)) +
                MEMBERS_ROOM;
    return room;
}

/* 0, or why its changes are not known to whoever gets them. */
static int write_known(struct json_writer *writer, const struct changes *changes, size_t *room,
                       struct fault *fault)
{
    size_t needed = BASE64_SIZE(changes->patch_bytes) + report_room(changes);
    OWNED(buffer_release) struct buffer patch = BUFFER(changes->patch_bytes);
    if (needed > *room)
        return fault_set(fault, EFBIG,
                         "the patch of %" PRIu64 " bytes is too long for the answer of a worker",
                         changes->patch_bytes);
    int r = changes->patch_fd < 0 ? 0 : io_append(changes->patch_fd, changes->patch_bytes, &patch);
    if (r < 0)
        return fault_set(fault, -r, "reading the patch: %m");
    *room -= needed;
    write_report(writer, changes);
    json_key(writer, "patch");
    json_base64(writer, patch.data, patch.length);
    return 0;
}

void carried_changes_write(struct json_writer *writer, const struct folder_patches *patches,
                           size_t *room)
{
    json_begin_array(writer);
    for (size_t i = 0; i < patches->count; i++) {
        const struct folder_patch *patch = &patches->list[i];
        struct fault fault = {0};
        json_begin_object(writer);
        json_text_member(writer, "folder", patch->folder);
        if (patch->failure != NULL)
            json_text_member(writer, "failure", patch->failure);
        else if (write_known(writer, &patch->changes, room, &fault) < 0)
            json_text_member(writer, "failure", fault.text);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static bool is_string(const struct json_value *value, size_t minimum)
{
    return value != NULL && value->type == JSON_STRING && value->length >= minimum &&
           strlen(value->text) == value->length;
}

/* The file in memory that the changes want. 0 or a negative errno. */
static int read_patch(const struct json_value *text, struct changes *changes)
{
    if (changes->patch_bytes == 0)
        return 0;
    size_t wrong;
    OWNED(buffer_release) struct buffer patch = BUFFER(changes->patch_bytes + DECODING_ROOM);
    int r = is_string(text, 1) ? base64_decode(&patch, text->text, text->length, &wrong) : -EINVAL;
    if (r == 0 && patch.length != changes->patch_bytes)
        r = -EINVAL;
    OWNED_FD int fd = r == 0 ? memfd_create("patch", MFD_CLOEXEC) : -1;
    if (r == 0 && fd < 0)
        r = -errno;
    if (r == 0)
        r = io_write_at(fd, patch.data, patch.length, 0);
    if (r == 0)
        changes->patch_fd = fd_take(&fd);
    return r;
}

static int read_failure(const struct json_value *failure, struct folder_patch *patch)
{
    if (!is_string(failure, 0) || failure->length > FAULT_TEXT_MAX)
        return -EINVAL;
    patch->failure = strdup(failure->text);
    if (patch->failure == NULL)
        return -ENOMEM;
    utf8_make_plain(patch->failure, false);
    return 0;
}

static int read_folder(const struct json_value *value, struct folder_patch *patch)
{
    const struct json_value *folder = json_member(value, "folder");
    const struct json_value *failure = json_member(value, "failure");
    struct fault fault = {0};
    *patch = (struct folder_patch){.changes = CHANGES_NONE};
    if (!is_string(folder, 1) || folder->text[0] != '/')
        return -EINVAL;
    patch->folder = folder->text;
    if (failure != NULL)
        return read_failure(failure, patch);
    int r = changes_read_value(json_member(value, "report"), &patch->changes, &fault);
    if (r == 0)
        r = read_patch(json_member(value, "patch"), &patch->changes);
    if (r < 0)
        changes_release(&patch->changes);
    return r;
}

void carried_changes_read(const struct buffer *text, struct folder_patches *patches)
{
    int r = json_parse(text->data, text->length, &patches->told, NULL);
    const struct json_value *list = r == 0 ? json_root(patches->told) : NULL;
    if (list == NULL || list->type != JSON_ARRAY) {
        patches->lost++;
        return;
    }
    for (const struct json_value *value = list->first; value != NULL; value = value->next) {
        if (patches->count < FOLDERS_MAX && read_folder(value, &patches->list[patches->count]) == 0)
            patches->count++;
        else
            patches->lost++;
    }
}
