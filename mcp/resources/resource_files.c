/* sandbox://files/CALL/PATH: files left by calls. */
#include "interpreter/base/bounds.h"
#include "interpreter/files/file_uri.h"
#include "interpreter/files/media_type.h"
#include "interpreter/files/picture_header.h"
#include "interpreter/files/plain_name.h"
#include "mcp/resources/resource.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <string.h>

/* A part of a file. */
struct file_part {
    struct buffer bytes;
    struct buffer quoted; /* empty: it goes as base64 */
};

static void part_release(struct file_part *part)
{
    buffer_release(&part->bytes);
    buffer_release(&part->quoted);
}

/* How many bytes of a text fit into `room` as JSON, where some take six. */
static size_t quotable_length(const struct buffer *bytes, size_t room)
{
    size_t taken = 2; /* the quotes around it */
    for (size_t i = 0; i < bytes->length; i++) {
        unsigned char byte = (unsigned char)bytes->data[i];
        taken += byte < 0x20 ? 6 : byte == '"' || byte == '\\' ? 2 : 1;
        if (taken > room)
            return i;
    }
    return bytes->length;
}

/* 0; 1: the offset is inside a character; or a negative errno. */
static int quote_text(struct file_part *part, bool is_last)
{
    struct buffer *bytes = &part->bytes;
    size_t fitting = quotable_length(bytes, part->quoted.maximum);
    size_t length = utf8_valid_length(bytes->data, fitting);
    bool is_cut = fitting < bytes->length || !is_last;
    if (bytes->length > 0 && (length == 0 || (!is_cut && length < fitting)))
        return 1;
    bytes->length = length;
    return resource_quote(bytes, &part->quoted);
}

static int read_part(const struct kept_view *view, uint64_t offset, struct file_part *part)
{
    bool is_text = kept_file_is_text(view);
    uint64_t left = view->file->size - offset;
    size_t length = left < FILE_READ_MAX ? (size_t)left : FILE_READ_MAX;
    int r = buffer_reserve(&part->bytes, length);
    ssize_t count = r == 0 ? kept_file_read(view, offset, part->bytes.data, length) : r;
    if (count < 0)
        return (int)count;
    part->bytes.length = (size_t)count;
    return is_text ? quote_text(part, length == left) : 0;
}

/* By its first bytes and its name, as in the result of its call. */
static const char *known_type_of(const struct kept_view *view)
{
    char head[PICTURE_MAGIC_SIZE];
    ssize_t length = kept_file_read(view, 0, head, sizeof(head));
    return media_type_of(view->file->path, head, length > 0 ? (size_t)length : 0);
}

static const char *type_of(const struct kept_view *view)
{
    const char *type = known_type_of(view);
    return kept_file_is_text(view) && strcmp(type, MEDIA_TYPE_UNKNOWN) == 0 ? "text/plain" : type;
}

static void answer_file(const struct json_value *uri, const struct kept_view *view, uint64_t offset,
                        const struct reply *reply)
{
    OWNED(part_release)
    struct file_part part = {.bytes = BUFFER(FILE_READ_MAX), .quoted = BUFFER(RESOURCE_QUOTED_MAX)};
    if (offset > view->file->size) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "offset is past the end of the file, which has %llu bytes",
                         (unsigned long long)view->file->size);
        return;
    }
    int r = read_part(view, offset, &part);
    uint64_t end = offset + part.bytes.length;
    const struct resource_contents contents = {
        .uri = uri,
        .type = type_of(view),
        .bytes = &part.bytes,
        .quoted = &part.quoted,
        .next_offset = end < view->file->size ? end : 0,
    };
    if (r > 0)
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "offset is inside a character: give the code-sandbox/next_offset of the "
                         "part before");
    else if (r < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "no memory for the file");
    else
        resource_answer_contents(reply, &contents);
}

static void answer_missing(const struct context *context, const struct json_value *uri,
                           uint64_t call, const struct reply *reply)
{
    const struct kept_files *kept = &context->files;
    if (kept_files_has_call(kept, resource_owner(reply), call))
        resource_answer_not_found(reply, uri,
                                  "this call left no such file, or one too large to be kept: its "
                                  "result lists the files");
    else if (call > 0 && call <= kept->newest_dropped)
        resource_answer_not_found(
            reply, uri,
            "files of this call are no longer kept, if it left any, because newer ones took "
            "their place: run the program again, and read them soon. A server "
            "started with --files-dir DIR copies files to DIR");
    else
        resource_answer_not_found(reply, uri, "no such resource");
}

static bool read_file(struct context *context, const struct json_value *uri,
                      const struct reply *reply)
{
    OWNED(file_uri_release) struct file_uri parsed = {0};
    struct kept_view view;
    int r = file_uri_read(uri->text, uri->length, &parsed);
    if (r > 0)
        return false;
    if (r == -EINVAL)
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "behind '?' a file has only offset=N, a number of bytes");
    else if (r < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "no memory for the file");
    else if (!kept_files_find(&context->files, resource_owner(reply), parsed.call, parsed.path,
                              &view))
        answer_missing(context, uri, parsed.call, reply);
    else
        answer_file(uri, &view, parsed.offset, reply);
    return true;
}

static void write_entry(struct json_writer *writer, const struct kept_view *view)
{
    OWNED(buffer_release) struct buffer uri = BUFFER(FILE_URI_MAX);
    if (file_uri_write(&uri, view->call->number, view->file->path) < 0)
        return;
    const char *type = known_type_of(view);
    json_begin_object(writer);
    json_key(writer, "uri");
    json_string(writer, uri.data, uri.length);
    plain_name_write_member(writer, "name", view->file->path);
    /* Telling text from bytes would read all of each file. */
    if (strcmp(type, MEDIA_TYPE_UNKNOWN) != 0)
        json_text_member(writer, "mimeType", type);
    json_number_member(writer, "size", (int64_t)view->file->size);
    json_end_object(writer);
}

/* In JSON, a byte of a name takes at most six, as an escape, too; mimeType, size and keys take less than the rest. */
#define ENTRY_MAX (FILE_URI_MAX + 6 * RUN_FILE_PATH_SIZE + 512)
_Static_assert(LISTED_FILES_MAX *ENTRY_MAX < LINE_OUT_MAX / 2, "the list fits into a line");

static void list_files(struct json_writer *writer, struct context *context, unsigned owner)
{
    struct kept_view views[LISTED_FILES_MAX];
    size_t count = kept_files_list(&context->files, owner, views, LISTED_FILES_MAX);
    for (size_t i = 0; i < count; i++)
        write_entry(writer, &views[i]);
}

const struct resource resource_files = {
    .uri = FILE_URI_TEMPLATE,
    .is_template = true,
    .name = "files",
    .title = "File of a call",
    .description =
        "A file left by a program, as its result lists it. Kept for the newest calls only. "
        "A long file comes in parts: append ?offset=N, with N from "
        "_meta[\"code-sandbox/next_offset\"], for the next part",
    .read = read_file,
    .list = list_files,
};
