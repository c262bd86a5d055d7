#include "mcp/tools/code_call.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/result/outcome_text.h"
#include "interpreter/result/session_end.h"
#include "interpreter/result/shown_output.h"
#include "interpreter/session_text.h"
#include "mcp/tools/call_progress.h"
#include "mcp/tools/code_arguments.h"
#include "mcp/tools/result_text.h"
#include "sandbox/base/owned.h"
#include "sandbox/call_functions.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HINT_MAX 2048 /* bytes of advice: a summary and a command */

/* A tools/call whose run has not ended. */
struct code_call {
    struct open_request request;
    struct context *context;
    const struct tool *tool;
    const struct language *language;
    char image[IMAGE_NAME_MAX + 1];
    struct reply reply;
    bool is_for_program; /* as in the request, with the next two */
    const char *const *others;
    void (*refuse)(const struct reply *reply, int status, const struct fault *fault);
    struct call_functions *functions; /* owned, until its start: likewise */
    unsigned owner; /* of its session, outputs and files */
    struct launched run; /* none for a session */
    struct cell *cell; /* of a session: the engine's */
    bool has_ended;    /* neither may be used any more */
    bool has_left; /* the session, which may begin its next call */
    struct check check; /* before the run, if --policy asks for it */
    struct buffer kept; /* meanwhile: the arguments, as JSON */
    bool is_checking;
    struct run_result result; /* of the ended run, while its patches are made */
    struct patch_job patches;
    char handle[SESSION_HANDLE_SIZE]; /* of that session */
    char displaced[SESSION_HANDLE_SIZE]; /* the session that ended to make room for it, or "" */
    bool starts_session;
    struct call_progress progress;
    int64_t began; /* clock_now() */
};

/* Frees the call; its answer must have been given or dropped. */
static void end_call(struct code_call *call)
{
    struct context *context = call->context;
    call_progress_close(&call->progress);
    check_drop(&call->check);
    findings_release(&call->check.findings);
    buffer_release(&call->kept);
    call_functions_free(call->functions);
    patch_job_drop(&call->patches);
    run_result_release(&call->result);
    open_requests_remove(&context->requests, &call->request);
    free(call);
}

/* The session as the result of this call shows it; empty if it ran in none. */
static struct session_view view_session(const struct code_call *call)
{
    if (call->cell == NULL)
        return (struct session_view){0};
    const struct session_table *table = &call->context->sessions;
    const struct session_entry *entry = session_table_find(table, call->owner, call->handle);
    const struct session_end *end = session_table_find_end(table, call->owner, call->handle);
    return (struct session_view){
        .handle = call->handle,
        .is_kept = entry != NULL,
        .reason = end != NULL ? end->reason : NULL,
        .kept = entry != NULL ? live_session_kept(&entry->live)
                : end != NULL ? end->kept
                              : call->language->session->kept,
        .has_variables = call->language->session->kind == SESSION_LIVE,
        .calls = entry != NULL ? entry->calls
                 : end != NULL ? end->calls + 1
                               : 1,
        .idle_ms = entry != NULL ? entry->idle_ms : call->context->settings->session_idle_ms,
        .checkpoint = call->result.checkpoint,
        .displaced = call->displaced,
    };
}

/* The session that the call runs in, while both go on; or NULL. */
static struct session_entry *entry_of(const struct code_call *call)
{
    return call->cell != NULL
               ? session_table_find(&call->context->sessions, call->owner, call->handle)
               : NULL;
}

/* The call is the session's no more, and what it left in folders has been read, or nobody will. */
static void leave_session(struct code_call *call, const struct run_result *result)
{
    struct session_entry *entry = entry_of(call);
    if (entry == NULL || call->has_left)
        return;
    call->has_left = true;
    if (call->has_ended) /* else what is read was left by another call */
        session_folders_read(entry->live.session);
    session_entry_end_call(entry, result);
}

static void answer_run(struct code_call *call)
{
    struct run_result *result = &call->result;
    struct context *context = call->context;
    const struct settings *settings = context->settings;
    uint64_t number = ++context->call_count;
    uint64_t output_number = outputs_may_keep(result) ? number : 0;
    OWNED(shown_output_release) struct shown_output shown = {0};
    OWNED(shown_output_release) struct shown_output raw = {0};
    int r = shown_output_make(result, output_number, READER_MODEL, &shown);
    if (r == 0 && (call->is_for_program || settings->result_format != RESULT_TEXT))
        r = shown_output_make(result, output_number, READER_PROGRAM, &raw);
    if (r < 0) {
        rpc_answer_error(call->reply.answer, RPC_INTERNAL_ERROR, "no memory for the result");
        return;
    }
    OWNED(result_files_release) struct result_files files;
    result_files_make(&(struct result_files_request){.result = result,
                                                     .patches = &call->patches.patches,
                                                     .call = number,
                                                     .owner = call->owner,
                                                     .shows_images = !settings->no_images,
                                                     .kept = &context->files,
                                                     .directory = &context->directory},
                      &files);
    OWNED(buffer_release) struct buffer hint = BUFFER(HINT_MAX);
    code_tool_advise(call->language, settings, call->image, result, &hint);
    const struct session_view session = view_session(call);
    const struct result_view view = {
        .result = result,
        .shown = &shown,
        .raw = &raw,
        .files = &files,
        .patches = &call->patches.patches,
        .output_number = output_number,
        .image = call->image,
        .wall_max_ms = settings->wall_max_ms,
        .network = &settings->network,
        .silent_hint = call->language->silent_hint,
        .hint = buffer_string(&hint),
        .format = call->is_for_program ? RESULT_STRUCTURED : settings->result_format,
        .session = call->cell != NULL ? &session : NULL,
        .check = check_was_made(&call->check) ? &call->check : NULL,
        .earlier = buffer_string(&context->launcher.unheard),
    };
    reply_result(&call->reply,
                 &(struct result_body){result_text_write, result_text_write_meta, &view, false});
    if (output_number > 0 && shown_output_is_partial(&shown))
        outputs_keep(&context->outputs, call->owner, number, result);
    buffer_release(&context->launcher.unheard);
}

/* The tool could not do its work: the model is told why, or the program. */
static void answer_refusal(const struct reply *reply,
                           void (*refuse)(const struct reply *, int, const struct fault *),
                           const struct fault *fault)
{
    if (refuse != NULL) {
        refuse(reply, -EINVAL, fault);
        return;
    }
    reply_result(reply, &(struct result_body){
                            .write = result_text_write_error,
                            .write_meta = fault->id != NULL ? result_text_write_error_meta : NULL,
                            .data = fault});
}

static void note_run(const struct code_call *call, const struct run_result *result)
{
    metrics_file_count_run(&call->context->metrics, call->language, result);
    log_call(&(struct log_call){call->tool->name, outcome_name(result->outcome), result,
                                clock_now() - call->began});
}

static void note_not_run(const struct code_call *call, enum not_run reason)
{
    metrics_file_count_not_run(&call->context->metrics, reason);
    log_call(&(struct log_call){call->tool->name, not_run_words(reason), NULL,
                                clock_now() - call->began});
}

static void fail(struct code_call *call, const struct fault *fault, enum not_run reason)
{
    note_not_run(call, reason);
    answer_refusal(&call->reply, call->refuse, fault);
    end_call(call);
}

static void patches_done(struct patch_job *job)
{
    struct code_call *call = container_of(job, struct code_call, patches);
    struct session_entry *entry = entry_of(call);
    if (entry != NULL)
        changes_since_mark(&entry->changed, &job->patches);
    leave_session(call, &call->result);
    answer_run(call);
    if (entry != NULL)
        changes_since_keep(&entry->changed, &job->patches);
    end_call(call);
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    (void)status; /* negative without a result */
    struct code_call *call = data;
    call_progress_close(&call->progress);
    call->has_ended = true;
    if (result == NULL) {
        fail(call, fault, NOT_RUN_FAILED);
        return;
    }
    note_run(call, result);
    run_result_take(result, &call->result);
    check_take_told(&call->check, &call->result.told_findings);
    patch_queue_add(&call->context->patches, &call->patches, &call->result);
}

static void run_printed(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    (void)stream;
    struct code_call *call = data;
    call_progress_add(&call->progress, bytes, length);
}

/* A session ended before the turn of this call, or could not go on. */
static void explain_failure(const struct code_call *call, int status, const struct fault *fault,
                            struct fault *explained)
{
    const struct session_table *table = &call->context->sessions;
    const struct session_end *end = session_table_find_end(table, call->owner, call->handle);
    if (status == -ESRCH)
        session_text_explain_unknown(table, call->owner, call->handle, explained);
    else if (!call->starts_session && end != NULL)
        fault_set(explained, -status, "%s. The session %s is lost, with its %s.", fault->text,
                  call->handle, end->kept);
    else
        *explained = *fault;
}

static void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct code_call *call = data;
    if (status == 0) {
        run_done(call, status, result, fault);
        return;
    }
    struct fault explained = {.id = fault->id};
    leave_session(call, NULL);
    explain_failure(call, status, fault, &explained);
    run_done(call, status, NULL, &explained);
}

static void cancel(struct open_request *request);

/* A copy, which outlives its session. */
static void name_image(struct code_call *call, const char *name)
{
    snprintf(call->image, sizeof(call->image), "%s", name);
}

static struct code_call *begin_call(struct context *context, const struct tool_request *request,
                                    struct fault *fault)
{
    struct code_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        fault_set(fault, ENOMEM, "starting a run: %m");
        return NULL;
    }
    *call = (struct code_call){
        .request = {.answer = request->reply->answer, .cancel = cancel},
        .context = context,
        .tool = request->tool,
        .language = request->tool->language,
        .reply = *request->reply,
        .is_for_program = request->is_for_program,
        .others = request->others,
        .refuse = request->refuse,
        .owner = rpc_answer_rpc(request->reply->answer)->owner,
        .patches = PATCH_JOB_NONE,
        .began = clock_now(),
    };
    call->patches.done = patches_done;
    if (request->functions != NULL) {
        call->functions = call_functions_copy(request->functions);
        if (call->functions == NULL) {
            free(call);
            fault_set(fault, ENOMEM, "starting a run: %m");
            return NULL;
        }
    }
    name_image(call, settings_image(context->settings, call->language));
    open_requests_add(&context->requests, &call->request);
    return call;
}

static const char *why_waiting(const void *data)
{
    const struct code_call *call = data;
    if (call->is_checking)
        return "checking the program";
    bool is_queued =
        call->cell != NULL ? cell_is_queued(call->cell) : launched_is_queued(&call->run);
    return is_queued                           ? "waiting for other calls to end"
           : launched_is_compiling(&call->run) ? "compiling the program"
                                               : NULL;
}

static int start_run(struct code_call *call, const struct snippet *snippet, struct fault *fault)
{
    const struct run_observer observer = {.done = run_done, .output = run_printed, .data = call};
    return launcher_start(&call->context->launcher, snippet, &observer, &call->run, fault);
}

static int open_session(struct code_call *call, struct session_entry **ret_entry,
                        struct fault *fault)
{
    struct context *context = call->context;
    struct session_entry *entry = NULL;
    if (call->language->session == NULL)
        return fault_set(fault, ENOTSUP, "%s has no sessions: leave out \"session\"",
                         call->language->title);
    int r = session_table_add(&context->sessions, call->owner, &entry, fault);
    if (r == -EAGAIN)
        return session_text_explain_busy(&context->sessions, call->owner, fault);
    if (r < 0)
        return r;
    const struct session_observer observer = {.ended = session_end_note, .data = entry};
    const struct session_wish wish = {.language = call->language};
    r = launcher_open_session(&context->launcher, &wish, &observer, &entry->live, fault);
    if (r < 0) {
        session_table_drop(entry);
        return r;
    }
    session_entry_make_room(entry, call->displaced);
    *ret_entry = entry;
    return 0;
}

static int find_session(struct code_call *call, const char *handle,
                        struct session_entry **ret_entry, struct fault *fault)
{
    const struct session_table *table = &call->context->sessions;
    *ret_entry = session_table_find(table, call->owner, handle);
    return *ret_entry != NULL ? 0 : session_text_explain_unknown(table, call->owner, handle, fault);
}

static int check_hears(const struct code_call *call, const struct session_entry *entry,
                       struct fault *fault)
{
    if (!entry->live.has_calls || !client_of(call->reply.answer)->is_deaf)
        return 0;
    fault_identify(fault, "invalid_parameter");
    return fault_set(fault, EINVAL,
                     "the session %s has \"functions\", whose calls come as events before the "
                     "answer: the request needs the field Accept with text/event-stream",
                     entry->handle);
}

static int start_cell(struct code_call *call, const char *handle, struct snippet *snippet,
                      struct fault *fault)
{
    struct session_entry *entry = NULL;
    char name[SESSION_HANDLE_SIZE];
    int r = session_handle_read(handle, name, &snippet->back_to, fault);
    call->starts_session = strcmp(handle, SESSION_NEW) == 0;
    if (r == 0)
        r = call->starts_session ? open_session(call, &entry, fault)
                                 : find_session(call, name, &entry, fault);
    if (r < 0 || entry == NULL)
        return r;
    r = check_hears(call, entry, fault);
    if (r < 0)
        return r;
    memcpy(call->handle, entry->handle, sizeof(call->handle));
    name_image(call, entry->live.image);
    const struct run_observer observer = {.done = cell_done, .output = run_printed, .data = call};
    r = launcher_continue(&call->context->launcher, &entry->live, snippet, &observer, &call->cell,
                          fault);
    if (r == 0)
        session_entry_begin_call(entry);
    else if (call->starts_session)
        session_table_drop(entry);
    return r;
}

static int start_program(struct code_call *call, struct code_arguments *arguments,
                         struct fault *fault)
{
    struct snippet *snippet = &arguments->snippet;
    snippet->language = call->language;
    snippet->functions = call->functions;
    return arguments->session != NULL ? start_cell(call, arguments->session, snippet, fault)
                                      : start_run(call, snippet, fault);
}

static void answer_not_run(struct code_call *call)
{
    note_not_run(call, NOT_RUN_POLICY);
    reply_result(&call->reply,
                 &(struct result_body){result_text_write_not_run, result_text_write_not_run_meta,
                                       &call->check, false});
}

/* Both are to be released in either case. */
static int read_kept(const struct code_call *call, struct json **ret_json,
                     struct code_arguments *arguments, struct fault *fault)
{
    *arguments = (struct code_arguments){0};
    int r = json_parse(call->kept.data, call->kept.length, ret_json, fault);
    if (r == 0)
        r = code_arguments_read(
            arguments,
            &(struct code_arguments_form){call->tool, call->context->settings, call->others},
            json_root(*ret_json), fault);
    arguments->snippet.language = call->language;
    return r;
}

/* Starts what has been checked, from the arguments that were kept. */
static int start_checked(struct code_call *call, struct fault *fault)
{
    OWNED(json_release) struct json *json = NULL;
    OWNED(code_arguments_release) struct code_arguments arguments;
    int r = read_kept(call, &json, &arguments, fault);
    if (r == 0)
        r = start_program(call, &arguments, fault);
    buffer_release(&call->kept);
    return r;
}

static void check_done(struct check *check);

/* From the arguments that were kept. */
static int start_check(struct code_call *call, struct fault *fault)
{
    OWNED(json_release) struct json *json = NULL;
    OWNED(code_arguments_release) struct code_arguments arguments;
    int r = read_kept(call, &json, &arguments, fault);
    call->check.done = check_done;
    call->check.held = call->kept.length;
    if (r == 0)
        r = check_begin(&call->check, &call->context->checker, &arguments.snippet, fault);
    call->is_checking = r == 0;
    return r;
}

static void check_done(struct check *check)
{
    struct code_call *call = container_of(check, struct code_call, check);
    struct fault fault = {0};
    call->is_checking = false;
    int r = 0;
    if (check->has_failed && !check->is_lost)
        log_note("--policy: a program in %s was not checked: %s", call->language->title,
                 check->findings.unchecked != NULL ? check->findings.unchecked : "no memory");
    if (check->is_lost) {
        r = start_check(call, &fault);
    } else if (findings_severity(&check->findings) == SEVERITY_REFUSE) {
        answer_not_run(call);
        end_call(call);
    } else {
        r = start_checked(call, &fault);
    }
    if (r < 0)
        fail(call, &fault, NOT_RUN_REFUSED);
}

/* The arguments are the client's, so they are kept as a copy. */
static int keep_and_check(struct code_call *call, const struct json_value *object,
                          struct fault *fault)
{
    struct json_writer *writer = NULL;
    call->kept = BUFFER(2 * LINE_IN_MAX);
    int r = json_writer_open(&call->kept, &writer);
    if (r == 0) {
        json_copy(writer, object);
        r = json_writer_close(writer);
    }
    return r < 0 ? fault_set(fault, -r, "keeping the arguments of a call: %m")
                 : start_check(call, fault);
}

static int start_call(struct code_call *call, struct code_arguments *arguments,
                      const struct tool_request *request, struct fault *fault)
{
    call_progress_open(&call->progress, &call->context->loop, &call->reply, request->token);
    call->progress.why_waiting = why_waiting;
    call->progress.data = call;
    int r = checker_is_for(&call->context->checker, call->language)
                ? keep_and_check(call, request->arguments, fault)
                : start_program(call, arguments, fault);
    if (r < 0)
        end_call(call);
    return r;
}

void code_call_refuse(struct context *context, const struct tool_request *request,
                      const struct fault *fault)
{
    metrics_file_count_not_run(&context->metrics, NOT_RUN_REFUSED);
    log_call(&(struct log_call){.tool = request->tool->name, .outcome = "refused"});
    answer_refusal(request->reply, request->refuse, fault);
}

void code_call_begin(struct context *context, const struct tool_request *request)
{
    OWNED(code_arguments_release) struct code_arguments arguments;
    struct fault fault = {0};
    const struct code_arguments_form form = {request->tool, context->settings, request->others};
    int r = code_arguments_read(&arguments, &form, request->arguments, &fault);
    if (r == -EINVAL && request->is_for_program)
        fault_identify(&fault, "invalid_parameter");
    struct code_call *call = r == 0 ? begin_call(context, request, &fault) : NULL;
    if (call != NULL && start_call(call, &arguments, request, &fault) == 0)
        return;
    code_call_refuse(context, request, &fault);
}

/* A session that the call was to start is of no use to anybody, unless its handle has been found. */
static void kill_run(struct code_call *call)
{
    struct session_entry *entry = entry_of(call);
    if (call->is_checking)
        check_drop(&call->check);
    else if (call->cell == NULL)
        launched_cancel(&call->run);
    else if (call->starts_session && entry != NULL && entry->pending == 1)
        session_table_drop(entry);
    else
        cell_cancel(call->cell);
}

static void cancel(struct open_request *request)
{
    struct code_call *call = container_of(request, struct code_call, request);
    if (!call->has_ended) {
        kill_run(call);
        note_not_run(call, NOT_RUN_CANCELLED);
    }
    leave_session(call, NULL);
    rpc_answer_drop(call->reply.answer);
    end_call(call);
}

struct rpc_answer *code_call_answer(const struct context *context, unsigned owner,
                                    const char *handle)
{
    for (struct open_request *request = context->requests.first; request != NULL;
         request = request->next) {
        const struct code_call *call =
            request->cancel == cancel ? container_of(request, struct code_call, request) : NULL;
        if (call != NULL && call->cell != NULL && !call->has_ended && call->owner == owner &&
            strcmp(call->handle, handle) == 0 && !cell_is_queued(call->cell))
            return call->reply.answer;
    }
    return NULL;
}
