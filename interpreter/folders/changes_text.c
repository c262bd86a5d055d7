#include "interpreter/folders/changes_text.h"

#include "interpreter/base/bounds.h"
#include "interpreter/files/file_uri.h"
#include "interpreter/files/plain_name.h"
#include "interpreter/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <inttypes.h>
#include <string.h>

/* What is left of the bounds of all folders together. */
struct text_room {
    size_t lines, bytes; /* bytes of patches */
};

/* "(+12)", "(+3 -1)", "(binary)"; nothing where only the mode changed. */
static int append_counts(struct buffer *text, const struct changed_file *file)
{
    if (file->is_binary)
        return buffer_append_text(text, " (binary)");
    if (file->added > 0 && file->removed > 0)
        return buffer_format(text, " (+%" PRIu64 " -%" PRIu64 ")", file->added, file->removed);
    if (file->added > 0)
        return buffer_format(text, " (+%" PRIu64 ")", file->added);
    return file->removed > 0 && file->status != 'D'
               ? buffer_format(text, " (-%" PRIu64 ")", file->removed)
               : 0;
}

static int note_files(const struct changes *changes, struct text_room *room, struct buffer *text)
{
    int r = 0;
    uint64_t more = changes->more_files;
    for (size_t i = 0; i < changes->file_count && r == 0; i++) {
        const struct changed_file *file = &changes->files[i];
        if (!file->is_by_call || room->lines == 0) {
            more += file->is_by_call;
            continue;
        }
        room->lines--;
        r = buffer_format(text, "\n%c ", file->status);
        if (r == 0)
            r = plain_name_append(text, file->path);
        if (r == 0)
            r = append_counts(text, file);
    }
    return r < 0 || more == 0
               ? r
               : buffer_format(text, "\nand %" PRIu64 " more file%s", more, more == 1 ? "" : "s");
}

static int note_undone(const struct changes *changes, struct text_room *room, struct buffer *text)
{
    int r = 0;
    size_t told = 0;
    for (; told < changes->undone_count && room->lines > 0 && r == 0; told++, room->lines--) {
        r = buffer_append_text(text, "\nAgain as in the folder: ");
        if (r == 0)
            r = plain_name_append(text, changes->undone[told]);
    }
    size_t more = changes->undone_count - told;
    return r < 0 || more == 0 ? r : buffer_format(text, "\nAgain as in the folder: %zu more", more);
}

static int note_left_out(const struct changes *changes, struct buffer *text)
{
    int r = 0;
    size_t told = 0;
    uint64_t more = changes->more_left_out;
    for (size_t i = 0; i < changes->left_out_count && r == 0; i++) {
        const struct left_out_file *file = &changes->left_out[i];
        if (!file->is_by_call || told == NOTES_LEFT_OUT_MAX) {
            more += file->is_by_call;
            continue;
        }
        told++;
        r = buffer_append_text(text, "\nNot in the patch: ");
        if (r == 0)
            r = file->path[0] != '\0' ? plain_name_append(text, file->path)
                                      : buffer_append_text(text, "parts of the folder");
        if (r == 0)
            r = buffer_format(text, " (%s)", file->reason);
    }
    return r < 0 || more == 0 ? r
                              : buffer_format(text, "\nNot in the patch: %" PRIu64 " more", more);
}

/* As one word of a shell. False: it has bytes that are better not typed into one. */
static bool append_word(struct buffer *text, const char *path)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "_./-+@:,=%";
    OWNED_MEMORY char *plain = strdup(path);
    if (plain == NULL)
        return false;
    utf8_make_plain(plain, false);
    if (strcmp(plain, path) != 0 || strchr(path, '\'') != NULL)
        return false;
    const char *quote = path[strspn(path, safe)] == '\0' ? "" : "'";
    return buffer_format(text, "%s%s%s", quote, path, quote) == 0;
}

static int note_command(const struct folder_patch *patch, struct buffer *text)
{
    OWNED(buffer_release) struct buffer line = BUFFER(text->maximum);
    bool is_written = buffer_append_text(&line, "\nTo apply it: git -C ") == 0 &&
                      append_word(&line, patch->folder) &&
                      buffer_append_text(&line, " apply ") == 0 && append_word(&line, patch->path);
    return is_written ? buffer_append(text, line.data, line.length) : 0;
}

static int note_place(const struct folder_patch *patch, const struct folder_patches *patches,
                      uint64_t call, struct buffer *text)
{
    int r = buffer_format(text, "\nPatch%s (%s): ",
                          patches->is_of_session ? " of all changes since the session began" : "",
                          quantity_size_short_text(patch->changes.patch_bytes).text);
    if (r < 0)
        return r;
    if (patch->path != NULL) {
        r = buffer_append_text(text, patch->path);
        bool is_here = patches->told == NULL; /* else the folder is the worker's */
        return r < 0 || !is_here ? r : note_command(patch, text);
    }
    return patch->is_kept ? file_uri_write(text, call, patch->name)
                          : buffer_append_text(text, "not kept; --files-dir DIR keeps patches");
}

/* The beginning of the patch, in whole lines: this is for reading, not for git. */
static int note_beginning(const struct changes *changes, struct text_room *room,
                          struct buffer *text)
{
    char head[NOTES_PATCH_MAX + 1];
    ssize_t count = pread(changes->patch_fd, head, room->bytes, 0);
    size_t length = count > 0 ? (size_t)count : 0;
    bool is_whole = length == changes->patch_bytes;
    while (!is_whole && length > 0 && head[length - 1] != '\n')
        length--;
    for (size_t i = 0; i < length; i++) {
        if (head[i] == '\0') /* far behind the beginning of a text */
            head[i] = '?';
    }
    room->bytes -= length;
    head[length] = '\0';
    utf8_make_plain(head, true);
    length = strlen(head);
    if (length > 0 && head[length - 1] == '\n')
        length--;
    int r = length > 0 ? buffer_format(text, "\n%.*s", (int)length, head) : 0;
    return r < 0 || is_whole
               ? r
               : buffer_format(text, "\n[... %s of the patch not shown ...]",
                               quantity_size_short_text(changes->patch_bytes - length).text);
}

/* In a session, the patch grows with each call: its text is for those who want it. */
static int note_patch(const struct folder_patch *patch, const struct folder_patches *patches,
                      uint64_t call, struct text_room *room, struct buffer *text)
{
    const struct changes *changes = &patch->changes;
    int r = buffer_append_text(text, patches->is_of_session ? "This call changed in a copy of "
                                                            : "Changes in a copy of ");
    if (r == 0)
        r = plain_name_append(text, patch->folder);
    if (r == 0)
        r = buffer_append_text(text, "; the folder itself is unchanged:");
    if (r == 0)
        r = note_files(changes, room, text);
    if (r == 0)
        r = note_undone(changes, room, text);
    if (r == 0)
        r = note_left_out(changes, text);
    if (r < 0 || changes->patch_fd < 0)
        return r;
    r = note_place(patch, patches, call, text);
    return r < 0 || patches->is_of_session || room->bytes == 0
               ? r
               : note_beginning(changes, room, text);
}

static int note_failure(const struct folder_patch *patch, bool is_of_session, struct buffer *text)
{
    int r = buffer_append_text(text, "What it wrote to its copy of ");
    if (r == 0)
        r = plain_name_append(text, patch->folder);
    return r < 0 ? r
                 : buffer_format(text, " is %s: %s.",
                                 is_of_session ? "in the session, but cannot be shown" : "lost",
                                 patch->failure);
}

int changes_text_note(const struct folder_patches *patches, uint64_t call, bool shows_patch,
                      struct buffer *text)
{
    struct text_room room = {NOTES_CHANGES_MAX, shows_patch ? NOTES_PATCH_MAX : 0};
    int r = 0;
    for (size_t i = 0; patches != NULL && i < patches->count && r == 0; i++) {
        const struct folder_patch *patch = &patches->list[i];
        if (patch->failure == NULL && !patch->changes.is_by_call)
            continue;
        r = text->length > 0 ? buffer_append(text, "\n", 1) : 0;
        if (r == 0)
            r = patch->failure != NULL ? note_failure(patch, patches->is_of_session, text)
                                       : note_patch(patch, patches, call, &room, text);
    }
    if (r < 0 || patches == NULL || patches->lost == 0)
        return r;
    return buffer_format(text, "%sWhat it wrote to its cop%s of %zu folder%s is %s.",
                         text->length > 0 ? "\n" : "", patches->lost == 1 ? "y" : "ies",
                         patches->lost, patches->lost == 1 ? "" : "s",
                         patches->is_of_session ? "in the session, but cannot be shown" : "lost");
}

static void write_files(struct json_writer *writer, const struct changes *changes)
{
    json_key(writer, "files");
    json_begin_array(writer);
    for (size_t i = 0; i < changes->file_count; i++) {
        const struct changed_file *file = &changes->files[i];
        json_begin_object(writer);
        changed_file_write(writer, file);
        json_boolean_member(writer, "by_call", file->is_by_call);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_number_member(writer, "more_files", (int64_t)changes->more_files);
}

static void write_undone(struct json_writer *writer, const struct changes *changes)
{
    json_key(writer, "undone");
    json_begin_array(writer);
    for (size_t i = 0; i < changes->undone_count; i++)
        json_text(writer, changes->undone[i]);
    json_end_array(writer);
}

static void write_place(struct json_writer *writer, const struct folder_patch *patch, uint64_t call)
{
    OWNED(buffer_release) struct buffer uri = BUFFER(FILE_URI_MAX);
    json_key(writer, "patch");
    if (patch->changes.patch_fd < 0) {
        json_null(writer);
        return;
    }
    json_begin_object(writer);
    json_key(writer, "uri");
    if (patch->is_kept && file_uri_write(&uri, call, patch->name) == 0)
        json_string(writer, uri.data, uri.length);
    else
        json_null(writer);
    json_text_member(writer, "path", patch->path);
    json_number_member(writer, "bytes", (int64_t)patch->changes.patch_bytes);
    json_end_object(writer);
}

/* The members of one folder; the caller ends the object. */
static void begin_folder(struct json_writer *writer, const struct folder_patch *patch,
                         uint64_t call)
{
    json_begin_object(writer);
    json_text_member(writer, "folder", patch->folder);
    json_text_member(writer, "fault", patch->failure);
    write_files(writer, &patch->changes);
    write_undone(writer, &patch->changes);
    write_place(writer, patch, call);
    left_out_write(writer, &patch->changes);
}

void changes_text_write(struct json_writer *writer, const struct folder_patches *patches,
                        uint64_t call)
{
    static const struct folder_patch unknown = {.changes = {.patch_fd = -1}};
    if (patches == NULL || patches->count + patches->lost == 0) {
        json_null(writer);
        return;
    }
    begin_folder(writer, patches->count > 0 ? &patches->list[0] : &unknown, call);
    json_number_member(writer, "lost_folders", (int64_t)patches->lost);
    json_key(writer, "others");
    json_begin_array(writer);
    for (size_t i = 1; i < patches->count; i++) {
        begin_folder(writer, &patches->list[i], call);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}
