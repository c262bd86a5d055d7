#include "mcp/subscriptions.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <stdlib.h>

struct subscription {
    struct open_request request;
    struct context *context;
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

static void subscription_free(struct subscription *subscription)
{
    open_requests_remove(&subscription->context->requests, &subscription->request);
    free(subscription);
}

static void cancel(struct open_request *request)
{
    struct subscription *subscription = container_of(request, struct subscription, request);
    rpc_answer_drop(request->answer);
    subscription_free(subscription);
}

/* With a result that says that it has ended. */
static void conclude(struct open_request *request)
{
    struct subscription *subscription = container_of(request, struct subscription, request);
    const struct result_body body = {.write_meta = write_meta, .data = &subscription->reply};
    reply_result(&subscription->reply, &body);
    subscription_free(subscription);
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
    for (struct open_request *open = context->requests.first; open != NULL; open = open->next)
        count += open->cancel == cancel && rpc_answer_rpc(open->answer)->owner == owner;
    struct subscription *subscription =
        count < SUBSCRIPTIONS_MAX ? malloc(sizeof(*subscription)) : NULL;
    if (subscription == NULL) {
        rpc_answer_error(reply->answer, RPC_INTERNAL_ERROR,
                         "%zu subscriptions are open already: cancel one first", count);
        return;
    }
    *subscription = (struct subscription){
        .request = {.answer = reply->answer, .cancel = cancel, .conclude = conclude},
        .context = context,
        .reply = *reply,
    };
    open_requests_add(&context->requests, &subscription->request);
    rpc_notify(rpc_answer_rpc(reply->answer), "notifications/subscriptions/acknowledged",
               write_acknowledgement, reply);
}
