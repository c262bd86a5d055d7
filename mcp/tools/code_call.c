#include "mcp/tools/code_call.h"
#include "mcp/base/bounds.h"
#include "mcp/base/log.h"
#include "mcp/tools/call_progress.h"
#include "mcp/tools/code_arguments.h"
#include "mcp/tools/result_text.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define HINT_MAX 2048 /* bytes of advice: a summary and a command */

/* A tools/call whose run has not ended. */
struct code_call {
    struct code_call *next, *previous;
    struct context *context;
    const struct tool *tool;
    const struct language *language;
    struct reply reply;
    struct run *run; /* the engine's; NULL: it has ended */
    struct run_result result; /* of the ended run, while its patches are made */
    struct patch_job patches;
    struct call_progress progress;
    int64_t began; /* clock_now() */
};

static void link_call(struct code_call *call)
{
    struct context *context = call->context;
    call->next = context->calls;
    if (call->next != NULL)
        call->next->previous = call;
    context->calls = call;
}

/* Frees the call; its answer must have been given or dropped. */
static void end_call(struct code_call *call)
{
    struct context *context = call->context;
    call_progress_close(&call->progress);
    patch_job_drop(&call->patches);
    run_result_release(&call->result);
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        context->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    free(call);
}

static void answer_run(struct code_call *call)
{
    struct run_result *result = &call->result;
    struct context *context = call->context;
    const struct settings *settings = context->settings;
    uint64_t number = ++context->call_count;
    uint64_t output_number = outputs_may_keep(result) ? number : 0;
    struct result_text shown;
    if (result_text_make(result, output_number, &shown) < 0) {
        rpc_answer_error(call->reply.answer, RPC_INTERNAL_ERROR, "no memory for the result");
        return;
    }
    OWNED(result_files_release) struct result_files files;
    result_files_make(&(struct result_files_request){.result = result,
                                                     .patches = &call->patches.patches,
                                                     .call = number,
                                                     .shows_images = !settings->no_images,
                                                     .kept = &context->files,
                                                     .directory = &context->directory},
                      &files);
    OWNED(buffer_release) struct buffer hint = BUFFER(HINT_MAX);
    code_tool_advise(call->tool->code, settings, result, &hint);
    const struct result_view view = {
        .result = result,
        .shown = &shown,
        .files = &files,
        .patches = &call->patches.patches,
        .output_number = output_number,
        .image = settings_image(settings, call->language),
        .wall_max_ms = settings->wall_max_ms,
        .silent_hint = call->tool->code->silent_hint,
        .hint = buffer_string(&hint),
        .format = settings->result_format,
    };
    reply_result(&call->reply,
                 &(struct result_body){result_text_write, result_text_write_meta, &view, false});
    if (output_number > 0 && shown.out.cut + shown.err.cut > 0)
        outputs_keep(&context->outputs, number, result);
    result_text_release(&shown);
}

/* The tool could not do its work: the model is told why. */
static void answer_refusal(const struct reply *reply, const struct fault *fault)
{
    reply_result(reply, &(struct result_body){
                            .write = result_text_write_error,
                            .write_meta = fault->id != NULL ? result_text_write_error_meta : NULL,
                            .data = fault});
}

static void note_end(const struct code_call *call, const char *outcome,
                     const struct run_result *result)
{
    log_call(&(struct log_call){call->tool->name, outcome, result, clock_now() - call->began});
}

static void patches_done(struct patch_job *job)
{
    struct code_call *call = container_of(job, struct code_call, patches);
    answer_run(call);
    end_call(call);
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct code_call *call = data;
    call_progress_close(&call->progress);
    note_end(call, status < 0 ? "failed" : outcome_name(result->outcome), result);
    call->run = NULL;
    if (status < 0) {
        answer_refusal(&call->reply, fault);
        end_call(call);
        return;
    }
    run_result_take(result, &call->result);
    patch_queue_add(&call->context->patches, &call->patches, &call->result.folders);
}

static void run_printed(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    (void)stream;
    struct code_call *call = data;
    call_progress_add(&call->progress, bytes, length);
}

static struct code_call *begin_call(struct context *context, const struct tool_request *request,
                                    struct fault *fault)
{
    const struct language *language = language_find(request->tool->code->language);
    struct code_call *call = language != NULL ? calloc(1, sizeof(*call)) : NULL;
    if (language == NULL)
        fault_set(fault, ENOENT, "%s is not known to this build", request->tool->code->language);
    else if (call == NULL)
        fault_set(fault, ENOMEM, "starting a run: %m");
    if (call == NULL)
        return NULL;
    *call = (struct code_call){
        .context = context,
        .tool = request->tool,
        .language = language,
        .reply = *request->reply,
        .patches = PATCH_JOB_NONE,
        .began = clock_now(),
    };
    call->patches.done = patches_done;
    link_call(call);
    return call;
}

static int start_call(struct code_call *call, struct snippet *snippet,
                      const struct json_value *token, struct fault *fault)
{
    snippet->language = call->language;
    call_progress_open(&call->progress, call->context, call->reply.version, token,
                       (const struct run *const *)&call->run);
    const struct run_observer observer = {.done = run_done, .output = run_printed, .data = call};
    int r = launcher_start(&call->context->launcher, snippet, &observer, &call->run, fault);
    if (r < 0)
        end_call(call);
    return r;
}

void code_call_begin(struct context *context, const struct tool_request *request)
{
    OWNED(code_arguments_release) struct code_arguments arguments;
    struct fault fault = {0};
    int r = code_arguments_read(&arguments, request->tool, context->settings, request->arguments,
                                &fault);
    struct code_call *call = r == 0 ? begin_call(context, request, &fault) : NULL;
    if (call != NULL && start_call(call, &arguments.snippet, request->token, &fault) == 0)
        return;
    log_call(&(struct log_call){.tool = request->tool->name, .outcome = "refused"});
    answer_refusal(request->reply, &fault);
}

void code_call_cancel(struct context *context, const struct json_value *id)
{
    for (struct code_call *call = context->calls; call != NULL; call = call->next) {
        if (!rpc_answer_is_for(call->reply.answer, id))
            continue;
        if (call->run != NULL) {
            engine_cancel(call->run);
            note_end(call, "cancelled", NULL);
        }
        rpc_answer_drop(call->reply.answer);
        end_call(call);
        return;
    }
}

bool code_call_is_live(const struct context *context, const struct rpc_answer *answer)
{
    for (const struct code_call *call = context->calls; call != NULL; call = call->next) {
        if (rpc_answer_same_id(call->reply.answer, answer))
            return true;
    }
    return false;
}

void code_call_forget_all(struct context *context)
{
    while (context->calls != NULL) {
        rpc_answer_drop(context->calls->reply.answer);
        end_call(context->calls);
    }
}
