#include "mcp/extension/sessions.h"

#include "interpreter/result/session_end.h"
#include "interpreter/session_text.h"
#include "mcp/extension/functions.h"
#include "mcp/extension/parameters.h"
#include "mcp/extension/session_request.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/run_paths.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* code-sandbox/open */

enum { OPEN_IMAGE, OPEN_PROCESSES, OPEN_IDLE, OPEN_LIMITS, OPEN_ENV, OPEN_FUNCTIONS, OPEN_ROWS };
static const struct parameter open_rows[OPEN_ROWS] = {
    [OPEN_IMAGE] = {"image", PARAMETER_TEXT, false},
    [OPEN_PROCESSES] = {"processes", PARAMETER_TEXT, false},
    [OPEN_IDLE] = {"idle_seconds", PARAMETER_NUMBER, false},
    [OPEN_LIMITS] = {"limits", PARAMETER_OBJECT, false},
    [OPEN_ENV] = {"env", PARAMETER_VARIABLES, false},
    [OPEN_FUNCTIONS] = {"functions", PARAMETER_ANY, false},
};

enum {
    MOST_MEMORY,
    MOST_DISK,
    MOST_PROCESSES,
    MOST_OUTPUT,
    MOST_CALLS,
    MOST_CALL_SECONDS,
    MOST_ROWS
};
static const struct parameter limit_rows[MOST_ROWS] = {
    [MOST_MEMORY] = {"memory_bytes", PARAMETER_WHOLE, false, .low = RUN_MEMORY_MIN},
    [MOST_DISK] = {"disk_bytes", PARAMETER_WHOLE, false, .low = RUN_DISK_MIN},
    [MOST_PROCESSES] = {"processes", PARAMETER_WHOLE, false, .low = 1},
    [MOST_OUTPUT] = {"output_bytes", PARAMETER_WHOLE, false, .low = RUN_OUTPUT_KEPT_MIN},
    [MOST_CALLS] = {"calls", PARAMETER_WHOLE, false, .low = 1},
    [MOST_CALL_SECONDS] = {"call_seconds", PARAMETER_WHOLE, false, .low = 1},
};

struct opening {
    struct session_wish wish;
    char **environment; /* owned */
    struct call_functions *functions; /* owned; or NULL */
    uint64_t calls;
    int64_t call_ms;
    int64_t idle_ms;
};

static void opening_release(struct opening *opening)
{
    parameter_list_release(&opening->environment);
    call_functions_free(opening->functions);
}

/* Nothing may be more than the operator allows. */
static int read_limits(const struct settings *settings, const struct json_value *object,
                       struct opening *opening, struct fault *fault)
{
    struct session_wish *wish = &opening->wish;
    const struct json_value *values[MOST_ROWS];
    const struct run_limits *most = &settings->limits;
    uint64_t call_seconds = 0;
    int r = parameters_read(object, limit_rows, MOST_ROWS, values, fault);
    const struct {
        uint64_t most, *wished;
    } limits[MOST_ROWS] = {
        [MOST_MEMORY] = {most->memory_bytes, &wish->memory_bytes},
        [MOST_DISK] = {most->disk_bytes, &wish->disk_bytes},
        [MOST_PROCESSES] = {most->processes, &wish->processes},
        [MOST_OUTPUT] = {most->output_kept, &wish->output_bytes},
        [MOST_CALLS] = {settings->function_calls, &opening->calls},
        [MOST_CALL_SECONDS] = {(uint64_t)settings->function_ms / 1000, &call_seconds},
    };
    for (size_t i = 0; r == 0 && i < MOST_ROWS; i++)
        r = parameters_whole(&limit_rows[i], values[i], limits[i].most, 0, limits[i].wished, fault);
    if (opening->calls == 0)
        opening->calls = settings->function_calls;
    opening->call_ms = call_seconds > 0 ? (int64_t)call_seconds * 1000 : settings->function_ms;
    return r < 0 ? r : 0;
}

static int read_processes(const struct json_value *value, bool *ret_keeps_running,
                          struct fault *fault)
{
    *ret_keeps_running = json_is(value, "run");
    if (value == NULL || *ret_keeps_running || json_is(value, "freeze"))
        return 0;
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, EINVAL,
                     "the parameter \"processes\" must be \"freeze\", with which they stop between "
                     "requests, or \"run\"");
}

static int read_opening(const struct settings *settings, const struct json_value *params,
                        struct opening *opening, struct fault *fault)
{
    const struct json_value *values[OPEN_ROWS];
    int r = parameters_read(params, open_rows, OPEN_ROWS, values, fault);
    if (r == 0)
        r = read_processes(values[OPEN_PROCESSES], &opening->wish.keeps_running, fault);
    if (r == 0)
        r = parameters_time(&open_rows[OPEN_IDLE], values[OPEN_IDLE], settings->session_idle_ms,
                            settings->session_idle_ms, &opening->idle_ms, fault);
    if (r == 0)
        r = read_limits(settings, values[OPEN_LIMITS], opening, fault);
    if (r == 0 && values[OPEN_ENV] != NULL)
        r = parameters_list(&open_rows[OPEN_ENV], values[OPEN_ENV], &opening->environment, fault);
    if (r == 0 && values[OPEN_FUNCTIONS] != NULL)
        r = functions_read(values[OPEN_FUNCTIONS], &opening->functions, fault);
    opening->wish.environment = (const char *const *)opening->environment;
    const char *image = values[OPEN_IMAGE] != NULL ? values[OPEN_IMAGE]->text : NULL;
    return r < 0 ? r
                 : launcher_choose_image(settings, image, &opening->wish.image,
                                         &opening->wish.language, fault);
}

/* What a result tells. */
struct opened_session {
    const struct session_entry *entry;
    const struct settings *settings;
    const char *displaced;
};

static void write_opened(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct opened_session *opened = data;
    const struct session_entry *entry = opened->entry;
    json_text_member(writer, "session", entry->handle);
    json_text_member(writer, "image", entry->live.image);
    json_key(writer, "languages");
    json_begin_array(writer);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        if (launcher_may_continue(&entry->live, languages[i]))
            json_text(writer, languages[i]->name);
    json_end_array(writer);
    json_text_member(writer, "work", opened->settings->engine.tier == TIER_L ? NULL : RUN_WORK);
    json_key(writer, "idle_seconds");
    json_double(writer, (double)entry->idle_ms / 1000);
    json_text_member(writer, "displaced", opened->displaced[0] != '\0' ? opened->displaced : NULL);
}

static int begin_session(struct context *context, struct opening *opening,
                         struct session_entry *entry, struct fault *fault)
{
    const struct session_observer observer = {.ended = session_end_note, .data = entry};
    struct calls_spec calls;
    if (opening->functions != NULL) {
        struct functions *functions = functions_new(context, entry);
        if (functions == NULL)
            return fault_set(fault, ENOMEM, "starting a session: %m");
        calls = functions_spec(functions, opening->functions, opening->calls, opening->call_ms);
        opening->wish.calls = &calls;
        entry->beside = functions;
        entry->release_beside = functions_free;
    }
    return launcher_open_session(&context->launcher, &opening->wish, &observer, &entry->live,
                                 fault);
}

static int open_session(struct context *context, struct opening *opening, const struct reply *reply,
                        struct fault *fault)
{
    unsigned owner = rpc_answer_rpc(reply->answer)->owner;
    struct session_entry *entry = NULL;
    char displaced[SESSION_HANDLE_SIZE];
    if (context->settings->sessions == 0)
        return fault_set(fault, ENOTSUP, "this server has no sessions: see --sessions, --workers");
    int r = session_table_add(&context->sessions, owner, &entry, fault);
    if (r == -EAGAIN) {
        session_text_explain_busy(&context->sessions, owner, fault);
        fault->id = "busy";
    }
    if (r < 0)
        return r;
    entry->idle_ms = opening->idle_ms;
    r = begin_session(context, opening, entry, fault);
    if (r < 0) {
        session_table_drop(entry);
        return r;
    }
    session_entry_make_room(entry, displaced);
    const struct opened_session opened = {entry, context->settings, displaced};
    session_entry_begin_call(entry); /* so that it is counted as used from now on */
    session_entry_end_use(entry);
    reply_result(reply, &(struct result_body){.write = write_opened, .data = &opened});
    return 0;
}

void sessions_open_answer(struct context *context, const struct rpc_message *message,
                          const struct reply *reply)
{
    OWNED(opening_release) struct opening opening = {0};
    struct fault fault = {0};
    int r = read_opening(context->settings, message->params, &opening, &fault);
    if (r == 0)
        r = open_session(context, &opening, reply, &fault);
    if (r < 0)
        session_request_refuse(reply, r, &fault);
}

/* code-sandbox/close */

/* A request that is answered when its session has ended. */
struct closing {
    struct open_request open;
    struct context *context;
    struct reply reply;
    bool is_cancelled;
};

static void cancel_closing(struct open_request *open)
{
    struct closing *closing = container_of(open, struct closing, open);
    open_requests_remove(&closing->context->requests, open);
    rpc_answer_drop(open->answer);
    closing->is_cancelled = true;
}

static void session_gone(void *data)
{
    OWNED_MEMORY struct closing *closing = data;
    if (closing->is_cancelled)
        return;
    open_requests_remove(&closing->context->requests, &closing->open);
    reply_nothing(&closing->reply);
}

void sessions_close_answer(struct context *context, const struct rpc_message *message,
                           const struct reply *reply)
{
    struct fault fault = {0};
    struct session_entry *entry = session_request_read(context, message, reply, &fault);
    struct closing *closing = NULL;
    if (entry != NULL && entry->is_closed) {
        fault_identify(&fault, "lost");
        fault_set(&fault, EALREADY, "the session %s is being closed already", entry->handle);
    } else if (entry != NULL) {
        closing = calloc(1, sizeof(*closing));
        if (closing == NULL)
            fault_set(&fault, ENOMEM, "closing a session: %m");
    }
    if (closing == NULL) {
        session_request_refuse(reply, -ENOENT, &fault);
        return;
    }
    *closing = (struct closing){
        .open = {.answer = reply->answer, .cancel = cancel_closing},
        .context = context,
        .reply = *reply,
    };
    open_requests_add(&context->requests, &closing->open);
    entry->is_closed = true;
    entry->gone = session_gone;
    entry->gone_data = closing;
    session_stop(entry->live.session);
}
