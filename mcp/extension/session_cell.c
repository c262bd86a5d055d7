#include "mcp/extension/functions.h"
#include "mcp/extension/parameters.h"
#include "mcp/extension/session_request.h"
#include "mcp/extension/sessions.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/owned.h"

#include <errno.h>

enum {
    CELL_SESSION,
    CELL_LANGUAGE,
    CELL_CODE,
    CELL_STDIN,
    CELL_FILES,
    CELL_FUNCTIONS,
    CELL_TIMEOUT,
    CELL_ROWS
};
static const struct parameter cell_rows[CELL_ROWS] = {
    [CELL_SESSION] = {"session", PARAMETER_TEXT, true},
    [CELL_LANGUAGE] = {"language", PARAMETER_TEXT, true},
    [CELL_CODE] = {"code", PARAMETER_DATA, true},
    [CELL_STDIN] = {"stdin", PARAMETER_DATA, false},
    [CELL_FILES] = {"files", PARAMETER_ANY, false},
    [CELL_FUNCTIONS] = {"functions", PARAMETER_ANY, false},
    [CELL_TIMEOUT] = {"timeout_seconds", PARAMETER_NUMBER, false},
};

static void functions_release(struct call_functions **functions)
{
    call_functions_free(*functions);
}

/* *ret_functions stays NULL if the cell has none of its own. */
static int read_functions(const struct session_entry *entry, const struct json_value *list,
                          struct call_functions **ret_functions, struct fault *fault)
{
    if (list == NULL)
        return 0;
    if (entry->live.has_calls)
        return functions_read(list, ret_functions, fault);
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, EINVAL,
                     "the parameter \"functions\": the session %s was opened without; open one "
                     "with \"functions\", which may be []",
                     entry->handle);
}

/* As a tool of the language does it, for a program. `others`: members that are read here. */
static void call_tool(struct context *context, const struct rpc_message *message,
                      const struct reply *reply, const struct language *language,
                      const char *const *others, const struct call_functions *functions)
{
    const struct tool *tool = tool_list_find_language(language);
    const struct json_value *meta = json_member(message->params, "_meta");
    tool->call(context, &(struct tool_request){
                            .tool = tool,
                            .arguments = message->params,
                            .token = json_member(meta, "progressToken"),
                            .reply = reply,
                            .is_for_program = true,
                            .others = others,
                            .functions = functions,
                            .refuse = session_request_refuse,
                        });
}

static int begin_cell(struct context *context, const struct rpc_message *message,
                      const struct reply *reply, struct fault *fault)
{
    static const char *const others[] = {"language", "functions", "_meta", NULL};
    OWNED(functions_release) struct call_functions *functions = NULL;
    const struct json_value *values[CELL_ROWS];
    int r = parameters_read(message->params, cell_rows, CELL_ROWS, values, fault);
    if (r < 0)
        return r;
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    char handle[SESSION_HANDLE_SIZE];
    uint32_t back_to;
    r = session_handle_read(values[CELL_SESSION]->text, handle, &back_to, fault);
    if (r < 0)
        return r;
    const struct session_entry *entry = session_request_find(context, owner, handle, fault);
    if (entry == NULL)
        return -ENOENT;
    r = read_functions(entry, values[CELL_FUNCTIONS], &functions, fault);
    if (r < 0)
        return r;
    const struct language *language = language_find(values[CELL_LANGUAGE]->text);
    if (language == NULL || language->session == NULL) {
        char names[LANGUAGE_NAMES_SIZE];
        fault_identify(fault, "invalid_parameter");
        return fault_set(fault, EINVAL, "%s%sthe parameter \"language\" must be %s",
                         language != NULL ? language->title : "",
                         language != NULL ? " has no sessions: " : "",
                         language_session_names(names));
    }
    call_tool(context, message, reply, language, others, functions);
    return 0;
}

/* Without a session, any language will do. */
static int begin_run(struct context *context, const struct rpc_message *message,
                     const struct reply *reply, struct fault *fault)
{
    static const char *const others[] = {"language", "_meta", NULL};
    const struct language *language = session_request_language(message->params, fault);
    if (language == NULL)
        return -EINVAL;
    if (json_member(message->params, "session") != NULL) {
        fault_identify(fault, "invalid_parameter");
        return fault_set(fault, EINVAL,
                         "the parameter \"session\": code-sandbox/cell runs code in one");
    }
    call_tool(context, message, reply, language, others, NULL);
    return 0;
}

void sessions_run_answer(struct context *context, const struct rpc_message *message,
                         const struct reply *reply)
{
    struct fault fault = {0};
    int r = begin_run(context, message, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
}

void sessions_cell_answer(struct context *context, const struct rpc_message *message,
                          const struct reply *reply)
{
    struct fault fault = {0};
    int r = begin_cell(context, message, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
}
