#include "mcp/extension/session_request.h"

#include "interpreter/base/log.h"
#include "mcp/extension/parameters.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <string.h>

static void write_data(struct json_writer *writer, const void *data)
{
    const struct fault *fault = data;
    json_begin_object(writer);
    json_text_member(writer, "id", fault->id != NULL ? fault->id : "failed");
    json_end_object(writer);
}

void session_request_refuse(const struct reply *reply, int status, const struct fault *fault)
{
    (void)status; /* the text has it */
    bool is_wrong = fault->id != NULL && strcmp(fault->id, "invalid_parameter") == 0;
    rpc_answer_error_with(reply->answer, is_wrong ? RPC_INVALID_PARAMS : RPC_REFUSED, fault->text,
                          write_data, fault);
}

const struct language *session_request_language(const struct json_value *params,
                                                struct fault *fault)
{
    char names[LANGUAGE_NAMES_SIZE];
    const struct json_value *name = json_member(params, "language");
    bool is_text = name != NULL && name->type == JSON_STRING && strlen(name->text) == name->length;
    const struct language *language = is_text ? language_find(name->text) : NULL;
    if (language != NULL)
        return language;
    fault_identify(fault, "invalid_parameter");
    fault_set(fault, EINVAL, "the parameter \"language\" must be %s", language_names(names));
    return NULL;
}

struct session_entry *session_request_find(const struct context *context, unsigned owner,
                                           const char *handle, struct fault *fault)
{
    struct session_entry *entry = session_table_find(&context->sessions, owner, handle);
    if (entry != NULL)
        return entry;
    const struct session_end *end = session_table_find_end(&context->sessions, owner, handle);
    fault_identify(fault, end != NULL ? "lost" : "no_session");
    if (end != NULL)
        fault_set(fault, ENOENT, "there is no session %s any more: it %s", end->handle,
                  end->reason);
    else
        fault_set(fault, ENOENT, "there is no session %s", visible_name(handle).text);
    return NULL;
}

struct session_entry *session_request_read(const struct context *context,
                                           const struct rpc_message *message,
                                           const struct reply *reply, struct fault *fault)
{
    static const struct parameter row = {"session", PARAMETER_TEXT, true};
    const struct json_value *value = NULL;
    if (parameters_read(message->params, &row, 1, &value, fault) < 0)
        return NULL;
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    return session_request_find(context, owner, value->text, fault);
}

void session_request_begin(struct session_request *request, struct context *context,
                           const struct reply *reply, struct session_entry *entry,
                           void (*cancel)(struct open_request *open))
{
    request->open = (struct open_request){.answer = reply->answer, .cancel = cancel};
    request->context = context;
    request->reply = *reply;
    request->owner = entry->owner;
    request->began = clock_now();
    memcpy(request->handle, entry->handle, sizeof(request->handle));
    session_entry_begin_call(entry);
    open_requests_add(&context->requests, &request->open);
}

struct session_entry *session_request_entry(const struct session_request *request)
{
    return session_table_find(&request->context->sessions, request->owner, request->handle);
}

void session_request_end(struct session_request *request)
{
    struct session_entry *entry = session_request_entry(request);
    if (entry != NULL)
        session_entry_end_use(entry);
    open_requests_remove(&request->context->requests, &request->open);
}

void session_request_log(const struct session_request *request, const char *outcome)
{
    log_call(&(struct log_call){
        .tool = request->method, .outcome = outcome, .total_ns = clock_now() - request->began});
}
