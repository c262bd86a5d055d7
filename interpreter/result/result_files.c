#include "interpreter/result/result_files.h"

#include "interpreter/base/bounds.h"
#include "interpreter/files/file_uri.h"
#include "interpreter/files/media_type.h"
#include "interpreter/files/plain_name.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_picture_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".gif", ".webp"};
    const char *slash = strrchr(name, '/');
    name = slash != NULL ? slash + 1 : name;
    size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool has_name(const struct result_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->list[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Whether the snippet has left a file of this name. */
static bool is_taken(const struct run_result *result, const char *name)
{
    for (size_t i = 0; i < result->files.count; i++) {
        if (strcmp(result->files.list[i].path, name) == 0)
            return true;
    }
    return false;
}

/* "figure-1.png" for 0001.png; another name if the snippet has a file of this name. */
static char *name_figure(const struct run_file *figure, const struct run_result *result)
{
    unsigned long number = strtoul(figure->path, NULL, 10);
    char name[64];
    for (unsigned i = 0; i == 0 || is_taken(result, name); i++)
        snprintf(name, sizeof(name), i == 0 ? "figure-%lu.png" : "figure-%lu-%u.png", number, i);
    return strdup(name);
}

/* "changes.patch", "changes-2.patch" and so on. */
static char *name_patch(const struct result_files *files, const struct run_result *result)
{
    char name[64];
    for (unsigned i = 1; i == 1 || is_taken(result, name) || has_name(files, name); i++)
        snprintf(name, sizeof(name), i == 1 ? "changes.patch" : "changes-%u.patch", i);
    return strdup(name);
}

enum file_kind { KIND_FILE, KIND_FIGURE, KIND_PATCH };

static char *name_file(const struct result_files *files, const struct run_result *result,
                       const struct run_file *file, enum file_kind kind)
{
    return kind == KIND_FIGURE  ? name_figure(file, result)
           : kind == KIND_PATCH ? name_patch(files, result)
                                : strdup(file->path);
}

static void add_file(struct result_files *files, const struct run_result *result,
                     const struct run_file *file, enum file_kind kind)
{
    char head[PICTURE_MAGIC_SIZE];
    ssize_t count = pread(file->fd, head, sizeof(head), 0);
    size_t length = count > 0 ? (size_t)count : 0;
    OWNED_MEMORY char *name = name_file(files, result, file, kind);
    if (name == NULL || has_name(files, name))
        return;
    const char *type = media_type_of(kind == KIND_PATCH ? name : file->path, head, length);
    files->list[files->count++] = (struct result_file){
        .file = file,
        .name = pointer_take(&name),
        .is_figure = kind == KIND_FIGURE,
        .is_patch = kind == KIND_PATCH,
        .is_picture = picture_type(head, length) != NULL,
        .type = type,
        .state = IMAGE_NONE,
        .base64 = BUFFER(2 * IMAGES_BYTES_MAX),
    };
}

static void add_patches(struct result_files *files, const struct run_result *result,
                        const struct folder_patches *patches)
{
    for (size_t i = 0; patches != NULL && i < patches->count; i++) {
        const struct changes *changes = &patches->list[i].changes;
        files->patches[i] =
            (struct run_file){.fd = changes->patch_fd, .size = changes->patch_bytes};
        if (changes->patch_fd >= 0)
            add_file(files, result, &files->patches[i], KIND_PATCH);
    }
}

/* Tells each patch where it can be read. */
static void tell_patches(const struct result_files *files, struct folder_patches *patches)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct result_file *file = &files->list[i];
        if (!file->is_patch)
            continue;
        struct folder_patch *patch = &patches->list[file->file - files->patches];
        patch->name = strdup(file->name);
        patch->is_kept = file->is_kept && patch->name != NULL;
        patch->path = file->path != NULL ? strdup(file->path) : NULL;
    }
}

/* Room for further images. */
struct image_room {
    size_t count;
    uint64_t bytes;
};

static enum image_state state_of(enum picture_soundness soundness)
{
    return soundness == PICTURE_SOUND            ? IMAGE_SHOWN
           : soundness == PICTURE_WITHOUT_PIXELS ? IMAGE_WITHOUT_PIXELS
           : soundness == PICTURE_INCOMPLETE     ? IMAGE_INCOMPLETE
                                                 : IMAGE_NONE;
}

static enum image_state load_image(struct result_file *file)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(IMAGES_BYTES_MAX);
    if (io_append(file->file->fd, file->file->size, &bytes) < 0)
        return IMAGE_UNREADABLE;
    struct picture_pixels pixels = {0};
    enum image_state state = state_of(picture_examine(bytes.data, bytes.length, &pixels));
    if (pixels.width > IMAGE_SIDE_MAX || pixels.height > IMAGE_SIDE_MAX) {
        file->pixels = pixels;
        return IMAGE_TOO_WIDE;
    }
    if (state == IMAGE_SHOWN && base64_append(&file->base64, bytes.data, bytes.length) < 0)
        return IMAGE_UNREADABLE;
    return state;
}

static void show_image(struct result_file *file, bool shows_images, struct image_room *room)
{
    if (!file->is_figure && (!file->is_picture || !is_picture_name(file->name)))
        return;
    if (!file->is_picture)
        file->state = IMAGE_WITHOUT_PIXELS;
    else if (!shows_images)
        file->state = IMAGE_OFF;
    else if (room->count == 0)
        file->state = IMAGE_TOO_MANY;
    else if (file->file->size > room->bytes)
        file->state = IMAGE_TOO_LARGE;
    else
        file->state = load_image(file);
    if (file->state == IMAGE_SHOWN) {
        room->count--;
        room->bytes -= file->file->size;
    }
}

/* Figures in order, then the newest pictures: programs save their results last. */
static void show_images(struct result_files *files, bool shows_images)
{
    struct image_room room = {IMAGES_MAX, IMAGES_BYTES_MAX};
    size_t figures = 0;
    for (; figures < files->count && files->list[figures].is_figure; figures++)
        show_image(&files->list[figures], shows_images, &room);
    for (size_t i = files->count; i > figures; i--)
        show_image(&files->list[i - 1], shows_images, &room);
}

/* Figures and patches in order, then the newest files: programs save their results last. */
static struct result_file *file_of_rank(struct result_files *files, size_t rank)
{
    size_t first = 0;
    while (first < files->count && (files->list[first].is_figure || files->list[first].is_patch))
        first++;
    return &files->list[rank < first ? rank : first + files->count - 1 - rank];
}

static void keep_files(struct result_files *files, const struct result_files_request *request)
{
    struct file_to_keep list[ARRAY_LENGTH(files->list)];
    for (size_t i = 0; i < files->count; i++) {
        const struct result_file *file = file_of_rank(files, i);
        list[i] = (struct file_to_keep){
            .path = file->name, .fd = file->file->fd, .size = file->file->size};
    }
    kept_files_add(request->kept, request->owner, files->call, list, files->count);
    for (size_t i = 0; i < files->count; i++)
        file_of_rank(files, i)->is_kept = list[i].is_kept;
}

static void save_files(struct result_files *files, const struct files_dir *directory)
{
    struct file_to_save list[ARRAY_LENGTH(files->list)];
    for (size_t i = 0; i < files->count; i++)
        list[i] = (struct file_to_save){
            .name = files->list[i].name,
            .fd = files->list[i].file->fd,
            .size = files->list[i].file->size,
        };
    files->directory = directory->path;
    files->directory_error = files_dir_save(directory, files->call, list, files->count);
    for (size_t i = 0; i < files->count; i++) {
        files->list[i].path = list[i].path;
        files->list[i].error = list[i].error;
    }
}

void result_files_make(const struct result_files_request *request, struct result_files *ret_files)
{
    const struct run_result *result = request->result;
    *ret_files = (struct result_files){
        .call = request->call,
        .figures = result->figures.count + result->figures.more,
        .undrawn = result->figures.more,
        .undrawn_at_least = result->figures.more_at_least,
        .more = result->files.more,
        .more_at_least = result->files.more_at_least,
        .is_lost = result->files_lost,
    };
    for (size_t i = 0; i < result->figures.count; i++)
        add_file(ret_files, result, &result->figures.list[i], KIND_FIGURE);
    add_patches(ret_files, result, request->patches);
    for (size_t i = 0; i < result->files.count; i++)
        add_file(ret_files, result, &result->files.list[i], KIND_FILE);
    show_images(ret_files, request->shows_images);
    if (request->kept != NULL)
        keep_files(ret_files, request);
    if (request->directory->path != NULL)
        save_files(ret_files, request->directory);
    tell_patches(ret_files, request->patches);
}

void result_files_release(struct result_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        buffer_release(&files->list[i].base64);
        memory_release(&files->list[i].name);
        memory_release(&files->list[i].path);
    }
    files->count = 0;
}

bool result_files_has_images(const struct result_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->list[i].state == IMAGE_SHOWN)
            return true;
    }
    return false;
}

void result_files_write_uri(struct json_writer *writer, const struct result_files *files,
                            const struct result_file *file)
{
    OWNED(buffer_release) struct buffer uri = BUFFER(FILE_URI_MAX);
    if (file->is_kept && file_uri_write(&uri, files->call, file->name) == 0)
        json_string(writer, uri.data, uri.length);
    else
        json_null(writer);
}

static void write_file(struct json_writer *writer, const struct result_files *files,
                       const struct result_file *file)
{
    json_begin_object(writer);
    json_text_member(writer, "name", file->name);
    json_number_member(writer, "bytes", (int64_t)file->file->size);
    json_text_member(writer, "type", file->type);
    json_key(writer, "uri");
    result_files_write_uri(writer, files, file);
    json_text_member(writer, "path", file->path);
    json_boolean_member(writer, "shown", file->state == IMAGE_SHOWN);
    json_end_object(writer);
}

void result_files_write(struct json_writer *writer, const struct result_files *files)
{
    if (files != NULL && files->is_lost) {
        json_null(writer);
        return;
    }
    json_begin_array(writer);
    for (size_t i = 0; files != NULL && i < files->count; i++) {
        if (!files->list[i].is_figure && !files->list[i].is_patch)
            write_file(writer, files, &files->list[i]);
    }
    json_end_array(writer);
}
