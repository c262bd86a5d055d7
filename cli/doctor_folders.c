#include "cli/doctor_folders.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <stdio.h>
#include <string.h>

static bool works(const struct examination *examination, enum folder_mode mode)
{
    return examination->folder_faults[mode].text[0] == '\0';
}

static void print_modes(const struct examination *examination,
                        void (*print)(enum verdict verdict, const char *what, const char *text))
{
    OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
    bool all = true;
    for (enum folder_mode mode = 0; mode < FOLDER_MODE_COUNT; mode++) {
        bool is_fine = works(examination, mode);
        buffer_format(&text, "%s%s %s%s", mode > 0 ? "; " : "", folder_mode_name(mode),
                      is_fine ? "works" : "does not: ", examination->folder_faults[mode].text);
        if (is_fine && mode == FOLDER_OVERLAY && examination->copies.path != NULL)
            buffer_format(&text, ", with copies in %s, because %s", examination->copies.path,
                          examination->copies.reason.text);
        all = all && is_fine;
    }
    char *line = buffer_string(&text);
    if (line != NULL)
        utf8_make_plain(line, false);
    print(all ? VERDICT_OK : VERDICT_WEAK, "folders", line != NULL ? line : "no memory");
}

void doctor_folders_print(const struct examination *examination,
                          void (*print)(enum verdict verdict, const char *what, const char *text))
{
    const struct folders *folders = &examination->settings->folders;
    print_modes(examination, print);
    for (size_t i = 0; i < folders->count; i++) {
        const struct folder *folder = &folders->list[i];
        OWNED(buffer_release) struct buffer text = BUFFER(64 * KIBIBYTE);
        buffer_format(&text, "%s (%s)", folder->path, folder_mode_name(folder->mode));
        if (strcmp(folder->path, folder->place) != 0)
            buffer_format(&text, " at %s", folder->place);
        char *line = buffer_string(&text);
        if (line == NULL)
            continue;
        utf8_make_plain(line, false);
        print(works(examination, folder->mode) ? VERDICT_OK : VERDICT_NO, "folder", line);
    }
}

/* Text of the operator's, which may not be UTF-8. */
static void write_path(struct json_writer *writer, const char *key, const char *path)
{
    OWNED_MEMORY char *plain = path != NULL ? strdup(path) : NULL;
    if (plain != NULL)
        utf8_make_plain(plain, true);
    json_text_member(writer, key, plain);
}

void doctor_folders_write(struct json_writer *writer, const struct examination *examination)
{
    const struct folders *folders = &examination->settings->folders;
    json_begin_object(writer);
    json_key(writer, "modes");
    json_begin_array(writer);
    for (enum folder_mode mode = 0; mode < FOLDER_MODE_COUNT; mode++) {
        bool is_fine = works(examination, mode);
        json_begin_object(writer);
        json_text_member(writer, "mode", folder_mode_name(mode));
        json_boolean_member(writer, "ok", is_fine);
        json_text_member(writer, "reason", is_fine ? NULL : examination->folder_faults[mode].text);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_key(writer, "copies");
    json_begin_object(writer);
    json_text_member(writer, "on", examination->copies.path != NULL ? "disk" : "tmpfs");
    write_path(writer, "path", examination->copies.path);
    json_text_member(writer, "reason",
                     examination->copies.path != NULL ? examination->copies.reason.text : NULL);
    json_end_object(writer);
    json_key(writer, "mounted");
    json_begin_array(writer);
    for (size_t i = 0; i < folders->count; i++) {
        json_begin_object(writer);
        write_path(writer, "path", folders->list[i].path);
        json_text_member(writer, "mode", folder_mode_name(folders->list[i].mode));
        write_path(writer, "at", folders->list[i].place);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}
