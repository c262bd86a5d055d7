#include "mcp/resources/resource.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/base64.h"
#include "sandbox/base/owned.h"

/* Not found, as the handshake versions number it. */
#define RESOURCE_NOT_FOUND (-32002)

static void write_uri(struct json_writer *writer, const void *data)
{
    json_begin_object(writer);
    json_key(writer, "uri");
    json_copy(writer, data);
    json_end_object(writer);
}

/* The client knows what it sent: a long URI is not sent back. */
void resource_answer_not_found(const struct reply *reply, const struct json_value *uri,
                               const char *message)
{
    int code = reply->version >= VERSION_STATELESS ? RPC_INVALID_PARAMS : RESOURCE_NOT_FOUND;
    rpc_answer_error_with(reply->answer, code, message, uri->length <= ID_MAX ? write_uri : NULL,
                          uri);
}

static void write_next_offset(struct json_writer *writer, uint64_t offset)
{
    json_key(writer, "_meta");
    json_begin_object(writer);
    json_number_member(writer, "code-sandbox/next_offset", (int64_t)offset);
    json_end_object(writer);
}

static void write_contents(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct resource_contents *contents = data;
    json_key(writer, "contents");
    json_begin_array(writer);
    json_begin_object(writer);
    json_key(writer, "uri");
    json_copy(writer, contents->uri);
    json_text_member(writer, "mimeType", contents->type);
    if (contents->quoted->length > 0) {
        json_key(writer, "text");
        json_raw(writer, contents->quoted->data, contents->quoted->length);
    } else {
        OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
        base64_append(&text, contents->bytes->data, contents->bytes->length);
        json_key(writer, "blob");
        json_string(writer, text.data, text.length);
    }
    if (contents->next_offset > 0)
        write_next_offset(writer, contents->next_offset);
    json_end_object(writer);
    json_end_array(writer);
}

void resource_answer_contents(const struct reply *reply, const struct resource_contents *contents)
{
    reply_result(reply, &(struct result_body){.write = write_contents, .data = contents});
}

int resource_quote(const struct buffer *bytes, struct buffer *quoted)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(quoted, &writer);
    if (r < 0)
        return r;
    json_string(writer, bytes->data, bytes->length);
    return json_writer_close(writer);
}
