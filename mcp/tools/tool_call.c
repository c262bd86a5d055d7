#include "mcp/tools/tool_call.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/utf8.h"

void tool_call_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply)
{
    const struct json_value *name = json_member(message->params, "name");
    const struct json_value *arguments = json_member(message->params, "arguments");
    if (name == NULL || name->type != JSON_STRING) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "tools/call needs \"name\", a string");
        return;
    }
    if (arguments != NULL && arguments->type != JSON_OBJECT) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "\"arguments\" must be an object");
        return;
    }
    const struct tool *tool = tool_list_find(context->settings, name);
    if (tool == NULL) {
        rpc_answer_error(reply->answer, RPC_INVALID_PARAMS, "unknown tool: %s: see tools/list",
                         visible_name(name->text).text);
        return;
    }
    const struct json_value *meta = json_member(message->params, "_meta");
    tool->call(context,
               &(struct tool_request){tool, arguments, json_member(meta, "progressToken"), reply});
}
