#include "mcp/tools/pictures.h"
#include "mcp/base/base64.h"
#include "mcp/base/bounds.h"
#include "mcp/settings/quantity.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HEAD_SIZE 12

/* By how it begins; NULL: no picture. */
static const char *picture_type(const char *bytes, size_t length)
{
    static const struct {
        const char *type, *begin;
        size_t length;
    } kinds[] = {
        {"image/png", "\x89PNG\r\n\x1a\n", 8},
        {"image/jpeg", "\xff\xd8\xff", 3},
        {"image/gif", "GIF87a", 6},
        {"image/gif", "GIF89a", 6},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (length >= kinds[i].length && memcmp(bytes, kinds[i].begin, kinds[i].length) == 0)
            return kinds[i].type;
    }
    bool is_webp =
        length >= HEAD_SIZE && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
    return is_webp ? "image/webp" : NULL;
}

/* All of it, or a negative errno. It cannot change any more, so a short read is its end. */
static int read_whole(const struct run_file *file, struct buffer *bytes)
{
    int r = buffer_reserve(bytes, (size_t)file->size);
    while (r == 0 && bytes->length < file->size) {
        ssize_t count = pread(file->fd, bytes->data + bytes->length,
                              (size_t)file->size - bytes->length, (off_t)bytes->length);
        if (count < 0 && errno != EINTR)
            r = -errno;
        if (count == 0)
            break;
        bytes->length += count > 0 ? (size_t)count : 0;
    }
    return r;
}

void pictures_load(const struct run_result *result, struct pictures *ret_pictures)
{
    *ret_pictures = (struct pictures){.left = result->files_left};
    uint64_t room = PICTURES_BYTES_MAX;
    for (size_t i = 0; i < result->file_count; i++) {
        const struct run_file *file = &result->files[i];
        char head[HEAD_SIZE];
        ssize_t length = pread(file->fd, head, sizeof(head), 0);
        const char *type = length > 0 ? picture_type(head, (size_t)length) : NULL;
        if (type == NULL)
            continue;
        struct picture *picture = &ret_pictures->list[ret_pictures->count++];
        *picture = (struct picture){
            .name = file->name,
            .type = type,
            .bytes = file->size,
            .base64 = BUFFER(2 * PICTURES_BYTES_MAX),
        };
        OWNED(buffer_release) struct buffer bytes = BUFFER(PICTURES_BYTES_MAX);
        if (file->size > room || read_whole(file, &bytes) < 0 ||
            base64_append(&picture->base64, bytes.data, bytes.length) < 0)
            continue;
        room -= file->size;
    }
}

void pictures_release(struct pictures *pictures)
{
    for (size_t i = 0; i < pictures->count; i++)
        buffer_release(&pictures->list[i].base64);
    pictures->count = 0;
}

void pictures_write(struct json_writer *writer, const struct pictures *pictures)
{
    for (size_t i = 0; i < pictures->count; i++) {
        const struct picture *picture = &pictures->list[i];
        if (picture->base64.length == 0)
            continue;
        json_begin_object(writer);
        json_text_member(writer, "type", "image");
        json_text_member(writer, "mimeType", picture->type);
        json_key(writer, "data");
        json_string(writer, picture->base64.data, picture->base64.length);
        json_end_object(writer);
    }
}

/* The snippet has chosen the name, and here it stands among words of ours. */
static int describe_hidden(const struct picture *picture, struct buffer *text)
{
    OWNED_MEMORY char *name = strdup(picture->name);
    if (name == NULL)
        return -ENOMEM;
    utf8_make_plain(name, false);
    int r =
        buffer_format(text, "%s%s is not shown: it has %s, and all pictures of a result may ",
                      text->length > 0 ? "\n" : "", name, quantity_size_text(picture->bytes).text);
    if (r == 0)
        r = buffer_format(text, "have %s. Save it smaller.",
                          quantity_size_text(PICTURES_BYTES_MAX).text);
    return r;
}

int pictures_describe_hidden(const struct pictures *pictures, struct buffer *text)
{
    int r = 0;
    for (size_t i = 0; i < pictures->count && r == 0; i++) {
        if (pictures->list[i].base64.length == 0)
            r = describe_hidden(&pictures->list[i], text);
    }
    if (r == 0 && pictures->left > 0)
        r = buffer_format(text, "%s%zu more pictures are not shown: at most %d are.",
                          text->length > 0 ? "\n" : "", pictures->left, RUN_FILES_MAX);
    return r;
}

void pictures_write_list(struct json_writer *writer, const struct pictures *pictures)
{
    for (size_t i = 0; i < pictures->count; i++) {
        const struct picture *picture = &pictures->list[i];
        json_begin_object(writer);
        json_text_member(writer, "name", picture->name);
        json_text_member(writer, "type", picture->type);
        json_number_member(writer, "bytes", (int64_t)picture->bytes);
        json_boolean_member(writer, "shown", picture->base64.length > 0);
        json_end_object(writer);
    }
}
