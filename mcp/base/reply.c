#include "mcp/base/reply.h"
#include "mcp/base/icon.h"

struct form {
    const struct reply *reply;
    const struct result_body *body;
};

void reply_write_implementation(struct json_writer *writer, enum version version, bool is_short)
{
    json_begin_object(writer);
    json_text_member(writer, "name", "code-sandbox");
    if (!is_short && version >= VERSION_2025_06_18)
        json_text_member(writer, "title", "Code sandbox");
    json_text_member(writer, "version", PROJECT_VERSION);
    if (!is_short)
        icon_write_member(writer, version);
    json_end_object(writer);
}

static void write_meta(struct json_writer *writer, const struct form *form)
{
    bool is_stateless = form->reply->version >= VERSION_STATELESS;
    if (form->body->write_meta == NULL && !is_stateless)
        return;
    json_key(writer, "_meta");
    json_begin_object(writer);
    if (form->body->write_meta != NULL)
        form->body->write_meta(writer, form->body->data);
    if (is_stateless) {
        json_key(writer, "io.modelcontextprotocol/serverInfo");
        reply_write_implementation(writer, form->reply->version, !form->body->introduces);
    }
    json_end_object(writer);
}

static void write_form(struct json_writer *writer, const void *data)
{
    const struct form *form = data;
    const struct reply *reply = form->reply;
    json_begin_object(writer);
    if (form->body->write != NULL)
        form->body->write(writer, reply->version, form->body->data);
    if (reply->version >= VERSION_STATELESS) {
        json_text_member(writer, "resultType", "complete");
        if (reply->ttl_ms != TTL_NONE) {
            json_number_member(writer, "ttlMs", reply->ttl_ms);
            /* The result depends on this user's images and settings. */
            json_text_member(writer, "cacheScope", "private");
        }
    }
    write_meta(writer, form);
    json_end_object(writer);
}

void reply_result(const struct reply *reply, const struct result_body *body)
{
    rpc_answer_result(reply->answer, write_form, &(struct form){reply, body});
}

void reply_nothing(const struct reply *reply)
{
    reply_result(reply, &(struct result_body){0});
}
