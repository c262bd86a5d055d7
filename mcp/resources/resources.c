#include "mcp/resources/resources.h"

#include "mcp/resources/resource.h"
#include "sandbox/base/owned.h"

static const struct resource *const kinds[] = {
    &resource_environments,
    &resource_output,
    &resource_files,
    &resource_sessions,
};

static void write_kind(struct json_writer *writer, enum version version,
                       const struct resource *kind)
{
    json_begin_object(writer);
    json_text_member(writer, kind->is_template ? "uriTemplate" : "uri", kind->uri);
    json_text_member(writer, "name", kind->name);
    if (version >= VERSION_2025_06_18)
        json_text_member(writer, "title", kind->title);
    json_text_member(writer, "description", kind->description);
    if (kind->type != NULL)
        json_text_member(writer, "mimeType", kind->type);
    json_end_object(writer);
}

static void write_kinds(struct json_writer *writer, enum version version, bool templates)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (kinds[i]->is_template == templates)
            write_kind(writer, version, kinds[i]);
    }
}

/* Of resources/list. */
struct listing {
    struct context *context;
    unsigned owner;
};

bool resources_list_files(enum version version)
{
    return version < VERSION_STATELESS;
}

static void write_resources(struct json_writer *writer, enum version version, const void *data)
{
    const struct listing *listing = data;
    json_key(writer, "resources");
    json_begin_array(writer);
    write_kinds(writer, version, false);
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (kinds[i]->list != NULL && resources_list_files(version))
            kinds[i]->list(writer, listing->context, listing->owner);
    }
    json_end_array(writer);
}

static void write_templates(struct json_writer *writer, enum version version, const void *data)
{
    (void)data;
    json_key(writer, "resourceTemplates");
    json_begin_array(writer);
    write_kinds(writer, version, true);
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
    if (!refuse_cursor(message, reply))
        reply_result(reply, &(struct result_body){
                                .write = write_resources,

                                .data = &(struct listing){context, resource_owner(reply)}});
}

void resources_list_templates(struct context *context, const struct rpc_message *message,
                              const struct reply *reply)
{
    (void)context;
    if (!refuse_cursor(message, reply))
        reply_result(reply, &(struct result_body){.write = write_templates});
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
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (kinds[i]->read(context, uri, reply))
            return;
    }
    resource_answer_not_found(reply, uri, "no such resource");
}

static void write_no_params(struct json_writer *writer, const void *data)
{
    (void)data;
    json_begin_object(writer);
    json_end_object(writer);
}

void resources_changed(void *data)
{
    struct context *context = data;
    struct client *client = context->listener;
    if (client != NULL && client->is_initialized && resources_list_files(client->version))
        rpc_notify(&client->rpc, "notifications/resources/list_changed", write_no_params, NULL);
}
