#include "mcp/subscriptions.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <stdlib.h>

struct subscription {
    struct subscription *previous, *next;
    struct reply reply;
};

static void write_meta(struct json_writer *writer, const void *data)
{
    const struct reply *reply = data;
    json_key(writer, "io.modelcontextprotocol/subscriptionId");
    rpc_answer_write_id(reply->answer, writer);
}

static void write_acknowledgement(struct json_writer *writer, const void *data)
{
    json_begin_object(writer);
    json_key(writer, "_meta");
    json_begin_object(writer);
    write_meta(writer, data);
    json_end_object(writer);
    json_key(writer, "notifications");
    json_begin_object(writer);
    json_end_object(writer);
    json_end_object(writer);
}

void subscriptions_listen(struct context *context, const struct rpc_message *message,
                          const struct reply *reply)
{
    const struct json_value *wanted = json_member(message->params, "notifications");
    if (wanted == NULL || wanted->type != JSON_OBJECT) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS,
                         "subscriptions/listen needs \"notifications\", an object");
        return;
    }
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    size_t count = 0;
    for (struct subscription *open = context->subscriptions; open != NULL; open = open->next)
        count += rpc_answer_rpc(open->reply.answer)->owner == owner;
    struct subscription *subscription =
        count < SUBSCRIPTIONS_MAX ? malloc(sizeof(*subscription)) : NULL;
    if (subscription == NULL) {
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR,
                         "%zu subscriptions are open already: cancel one first", count);
        return;
    }
    *subscription = (struct subscription){.reply = *reply};
    LIST_PREPEND(context->subscriptions, subscription);
    rpc_notify(rpc_answer_rpc(reply->answer), "notifications/subscriptions/acknowledged",
               write_acknowledgement, reply);
}

static void drop(struct context *context, struct subscription *subscription)
{
    LIST_REMOVE(context->subscriptions, subscription);
    rpc_answer_drop(subscription->reply.answer);
    free(subscription);
}

void subscriptions_cancel(struct context *context, uint64_t peer, const struct json_value *id)
{
    LIST_EACH (struct subscription, open, context->subscriptions) {
        if (!rpc_answer_is_for(open->reply.answer, peer, id))
            continue;
        drop(context, open);
        return;
    }
}

void subscriptions_cancel_all(struct context *context, const struct rpc *rpc)
{
    LIST_EACH (struct subscription, open, context->subscriptions) {
        if (rpc_answer_rpc(open->reply.answer) == rpc)
            drop(context, open);
    }
}

bool subscriptions_is_live(const struct context *context, const struct rpc_answer *answer)
{
    for (const struct subscription *open = context->subscriptions; open != NULL;
         open = open->next) {
        if (rpc_answer_same_id(open->reply.answer, answer))
            return true;
    }
    return false;
}

void subscriptions_end_all(struct context *context)
{
    while (context->subscriptions != NULL) {
        OWNED_MEMORY struct subscription *subscription = context->subscriptions;
        LIST_REMOVE(context->subscriptions, subscription);
        const struct result_body body = {.write_meta = write_meta, .data = &subscription->reply};
        reply_result(&subscription->reply, &body);
    }
}
