#include "mcp/resources.h"
#include "images/store/store.h"
#include "mcp/base/base64.h"
#include "mcp/base/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>

#define ENVIRONMENTS_URI "sandbox://environments"
#define ENVIRONMENTS_MAX 65536

/* Not found, as the handshake versions number it. */
#define RESOURCE_NOT_FOUND (-32002)

static void write_resources(struct json_writer *writer, enum version version, const void *data)
{
    (void)data;
    json_key(writer, "resources");
    json_begin_array(writer);
    json_begin_object(writer);
    json_text_member(writer, "uri", ENVIRONMENTS_URI);
    json_text_member(writer, "name", "environments");
    if (version >= VERSION_2025_06_18)
        json_text_member(writer, "title", "Sandbox environments");
    json_text_member(writer, "description",
                     "The image of each language, its libraries, and whether it has been fetched");
    json_text_member(writer, "mimeType", "application/json");
    json_end_object(writer);
    json_end_array(writer);
}

static void write_templates(struct json_writer *writer, enum version version, const void *data)
{
    (void)data;
    json_key(writer, "resourceTemplates");
    json_begin_array(writer);
    json_begin_object(writer);
    json_text_member(writer, "uriTemplate", OUTPUT_URI_TEMPLATE);
    json_text_member(writer, "name", "output");
    if (version >= VERSION_2025_06_18)
        json_text_member(writer, "title", "Full output of a call");
    json_text_member(
        writer, "description",
        "The full stdout or stderr of a call, if its result shows only a part. Kept for "
        "the newest calls only");
    json_text_member(writer, "mimeType", "text/plain");
    json_end_object(writer);
    json_end_array(writer);
}

static bool refuse_cursor(const struct rpc_message *message, const struct reply *reply)
{
    const struct json_value *cursor = json_member(message->params, "cursor");
    if (cursor == NULL || cursor->type == JSON_NULL)
        return false;
    rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "unknown cursor: the list has one page");
    return true;
}

void resources_list(struct context *context, const struct rpc_message *message,
                    const struct reply *reply)
{
    (void)context;
    if (!refuse_cursor(message, reply))
        reply_result(reply, &(struct result_body){.write = write_resources});
}

void resources_list_templates(struct context *context, const struct rpc_message *message,
                              const struct reply *reply)
{
    (void)context;
    if (!refuse_cursor(message, reply))
        reply_result(reply, &(struct result_body){.write = write_templates});
}

/* image and installed_libraries are the members of the Python server's resource; the others tell how to fetch it. */
static void write_environment(struct json_writer *writer, const struct settings *settings,
                              const struct language *language, const char *store)
{
    const char *name = settings_image(settings, language);
    const struct recipe *recipe = recipe_find(name);
    OWNED(image_release) struct image image = {0};
    struct fault fault = {0};
    int r = image_open(store, name, &image, &fault);
    json_key(writer, language->name);
    json_begin_object(writer);
    json_text_member(writer, "image", name);
    json_text_member(
        writer, "installed_libraries",
        r == 0 ? image.summary
               : (recipe != NULL ? recipe->summary : "unknown until the image is fetched"));
    json_boolean_member(writer, "available", r == 0);
    if (r < 0)
        json_text_member(writer, "reason", fault.text);
    if (r == -ENOENT && recipe != NULL) {
        OWNED(buffer_release) struct buffer command = BUFFER(1024);
        buffer_format(&command, "code-sandbox-mcp fetch %s", name);
        json_key(writer, "fetch");
        json_string(writer, command.data, command.length);
    }
    json_end_object(writer);
}

static int compose_environments(const struct settings *settings, struct buffer *text,
                                struct fault *fault)
{
    OWNED_MEMORY char *store = NULL;
    int r = store_path(&store, fault);
    if (r < 0)
        return r;
    struct json_writer *writer = NULL;
    r = json_writer_open(text, &writer);
    if (r < 0)
        return fault_set(fault, -r, "describing the environments: %m");
    size_t count;
    const struct language *languages = language_list(&count);
    json_begin_object(writer);
    for (size_t i = 0; i < count; i++)
        if (settings_offer(settings, &languages[i]))
            write_environment(writer, settings, &languages[i], store);
    json_end_object(writer);
    r = json_writer_close(writer);
    return r < 0 ? fault_set(fault, -r, "describing the environments: %m") : 0;
}

static void write_contents(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct buffer *text = data;
    json_key(writer, "contents");
    json_begin_array(writer);
    json_begin_object(writer);
    json_text_member(writer, "uri", ENVIRONMENTS_URI);
    json_text_member(writer, "mimeType", "application/json");
    json_key(writer, "text");
    json_string(writer, text->data, text->length);
    json_end_object(writer);
    json_end_array(writer);
}

static void write_uri(struct json_writer *writer, const void *data)
{
    json_begin_object(writer);
    json_key(writer, "uri");
    json_copy(writer, data);
    json_end_object(writer);
}

/* The client knows what it sent: a long URI is not sent back. */
static void answer_not_found(const struct reply *reply, const struct json_value *uri)
{
    int code = reply->version >= VERSION_STATELESS ? RPC_INVALID_PARAMS : RESOURCE_NOT_FOUND;
    rpc_answer_error_with(reply->answer, code, "no such resource",
                          uri->length <= ID_MAX ? write_uri : NULL, uri);
}

/* One stream as it was kept. */
struct output_contents {
    const struct json_value *uri;
    struct buffer bytes; /* of it */
    struct buffer quoted; /* the same as JSON text, if that fits into a line */
};

static int quote(const struct buffer *bytes, struct buffer *quoted)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(quoted, &writer);
    if (r < 0)
        return r;
    json_string(writer, bytes->data, bytes->length);
    return json_writer_close(writer);
}

static void write_output(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct output_contents *contents = data;
    json_key(writer, "contents");
    json_begin_array(writer);
    json_begin_object(writer);
    json_key(writer, "uri");
    json_copy(writer, contents->uri);
    if (contents->quoted.length > 0) {
        json_text_member(writer, "mimeType", "text/plain");
        json_key(writer, "text");
        json_raw(writer, contents->quoted.data, contents->quoted.length);
    } else {
        OWNED(buffer_release) struct buffer text = BUFFER(LINE_OUT_MAX);
        base64_append(&text, contents->bytes.data, contents->bytes.length);
        json_text_member(writer, "mimeType", "application/octet-stream");
        json_key(writer, "blob");
        json_string(writer, text.data, text.length);
    }
    json_end_object(writer);
    json_end_array(writer);
}

static void answer_output(const struct reply *reply, const struct json_value *uri,
                          const struct capture *capture)
{
    OWNED(buffer_release) struct buffer bytes = BUFFER(OUTPUT_STREAM_MAX + 256);
    OWNED(buffer_release) struct buffer quoted = BUFFER(LINE_OUT_MAX - 8 * ID_MAX);
    int r = buffer_append(&bytes, capture->head.data, capture->head.length);
    if (r == 0 && capture->cut > 0)
        r = buffer_format(&bytes, "\n[... %" PRIu64 " bytes were not kept ...]\n", capture->cut);
    if (r == 0)
        r = buffer_append(&bytes, capture->tail.data, capture->tail.length);
    /* Bytes that take six each go as base64. */
    if (r == 0 && quote(&bytes, &quoted) < 0)
        buffer_release(&quoted);
    const struct output_contents contents = {uri, bytes, quoted};
    if (r < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "no memory for the output");
    else
        reply_result(reply, &(struct result_body){.write = write_output, .data = &contents});
}

void resources_read(struct context *context, const struct rpc_message *message,
                    const struct reply *reply)
{
    const struct json_value *uri = json_member(message->params, "uri");
    if (uri == NULL || uri->type != JSON_STRING) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "resources/read needs \"uri\", a string");
        return;
    }
    const struct capture *output = outputs_find(&context->outputs, uri);
    if (output != NULL) {
        answer_output(reply, uri, output);
        return;
    }
    if (!json_is(uri, ENVIRONMENTS_URI)) {
        answer_not_found(reply, uri);
        return;
    }
    struct fault fault = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(ENVIRONMENTS_MAX);
    if (compose_environments(context->settings, &text, &fault) < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "%s", fault.text);
    else
        reply_result(reply, &(struct result_body){.write = write_contents, .data = &text});
}
