#include "mcp/resources.h"
#include "images/store.h"
#include "mcp/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>

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
    json_text_member(
        writer, "description",
        "For each language: the image it runs on, the libraries in it, and whether it has "
        "been fetched");
    json_text_member(writer, "mimeType", "application/json");
    json_end_object(writer);
    json_end_array(writer);
}

static void write_no_templates(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    (void)data;
    json_key(writer, "resourceTemplates");
    json_begin_array(writer);
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

void resources_list(struct server *server, const struct rpc_message *message,
                    const struct reply *reply)
{
    (void)server;
    if (!refuse_cursor(message, reply))
        reply_result(reply, &(struct result_body){.write = write_resources});
}

void resources_list_templates(struct server *server, const struct rpc_message *message,
                              const struct reply *reply)
{
    (void)server;
    if (!refuse_cursor(message, reply))
        reply_result(reply, &(struct result_body){.write = write_no_templates});
}

/* image and installed_libraries are what the server of old had; the rest tells how to get there. */
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
    json_text_member(writer, "installed_libraries",
                     r == 0
                         ? image.summary
                         : (recipe != NULL ? recipe->summary : "unknown until the image is there"));
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

void resources_read(struct server *server, const struct rpc_message *message,
                    const struct reply *reply)
{
    const struct json_value *uri = json_member(message->params, "uri");
    if (uri == NULL || uri->type != JSON_STRING) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "resources/read needs \"uri\", a string");
        return;
    }
    if (!json_is(uri, ENVIRONMENTS_URI)) {
        answer_not_found(reply, uri);
        return;
    }
    struct fault fault = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(ENVIRONMENTS_MAX);
    if (compose_environments(server->settings, &text, &fault) < 0)
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR, "%s", fault.text);
    else
        reply_result(reply, &(struct result_body){.write = write_contents, .data = &text});
}
