#include "mcp/tools/result_content.h"

#include "interpreter/files/plain_name.h"
#include "interpreter/result/result_files.h"

#include <string.h>

void result_content_write_images(struct json_writer *writer, const struct result_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct result_file *file = &files->list[i];
        if (file->state != IMAGE_SHOWN)
            continue;
        json_begin_object(writer);
        json_text_member(writer, "type", "image");
        json_text_member(writer, "mimeType", file->type);
        json_key(writer, "data");
        json_string(writer, file->base64.data, file->base64.length);
        json_end_object(writer);
    }
}

static void write_link(struct json_writer *writer, const struct result_files *files,
                       const struct result_file *file)
{
    json_begin_object(writer);
    json_text_member(writer, "type", "resource_link");
    json_key(writer, "uri");
    result_files_write_uri(writer, files, file);
    plain_name_write_member(writer, "name", file->name);
    json_text_member(writer, "mimeType", file->type);
    json_number_member(writer, "size", (int64_t)file->file->size);
    json_key(writer, "annotations");
    json_begin_object(writer);
    json_key(writer, "audience");
    json_begin_array(writer);
    json_text(writer, "user");
    json_end_array(writer);
    json_end_object(writer);
    json_end_object(writer);
}

void result_content_write_links(struct json_writer *writer, enum version version,
                                const struct result_files *files)
{
    size_t links = 0;
    for (size_t i = 0; i < files->count && version >= VERSION_2025_06_18; i++) {
        const struct result_file *file = &files->list[i];
        /* Some clients insert a linked image into the conversation as base64 text. */
        if (!file->is_kept || strncmp(file->type, "image/", 6) == 0 || links == FILE_LINKS_MAX)
            continue;
        write_link(writer, files, file);
        links++;
    }
}
