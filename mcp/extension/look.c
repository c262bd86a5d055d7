#include "interpreter/folders/changes_text.h"
#include "interpreter/result/result_files.h"
#include "mcp/extension/session_request.h"
#include "mcp/extension/sessions.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>

struct look {
    struct session_request request;
    struct cell *cell; /* NULL: the look has ended */
    struct run_result result; /* while patches are made */
    struct patch_job patches;
};

static void look_free(struct look *look)
{
    patch_job_drop(&look->patches);
    run_result_release(&look->result);
    free(look);
}

/* Its session may go on. */
static void leave(struct look *look)
{
    struct session_entry *entry = session_request_entry(&look->request);
    if (entry != NULL && look->cell == NULL)
        session_folders_read(entry->live.session);
    session_request_end(&look->request);
}

struct looked {
    const struct folder_patches *patches;
    uint64_t number;
};

static void write_changes(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct looked *looked = data;
    json_key(writer, "changes");
    changes_text_write(writer, looked->patches, looked->number);
}

static void patches_done(struct patch_job *job)
{
    struct look *look = container_of(job, struct look, patches);
    struct context *context = look->request.context;
    const struct looked looked = {&job->patches, ++context->call_count};
    leave(look);
    OWNED(result_files_release) struct result_files files;
    result_files_make(&(struct result_files_request){.result = &look->result,
                                                     .patches = &job->patches,
                                                     .call = looked.number,
                                                     .owner = look->request.owner,
                                                     .kept = &context->files,
                                                     .directory = &context->directory},
                      &files);
    reply_result(&look->request.reply,
                 &(struct result_body){.write = write_changes, .data = &looked});
    look_free(look);
}

static void look_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct look *look = data;
    look->cell = NULL;
    if (status == 0 && result->session == SESSION_KEPT) {
        run_result_take(result, &look->result);
        patch_queue_add(&look->request.context->patches, &look->patches, &look->result);
        return;
    }
    struct fault lost = {.id = "lost"};
    fault_set(&lost, ENOENT, "the session %s has ended: %s", look->request.handle,
              fault != NULL ? fault->text : "see its last result");
    session_request_end(&look->request);
    session_request_refuse(&look->request.reply, -ENOENT, &lost);
    look_free(look);
}

static void cancel_look(struct open_request *open)
{
    struct look *look = container_of(open, struct look, request.open);
    if (look->cell != NULL)
        cell_cancel(look->cell);
    leave(look);
    rpc_answer_drop(open->answer);
    look_free(look);
}

void sessions_changes_answer(struct context *context, const struct rpc_message *message,
                             const struct reply *reply)
{
    struct fault fault = {0};
    struct session_entry *entry = session_request_read(context, message, reply, &fault);
    struct look *look = entry != NULL ? calloc(1, sizeof(*look)) : NULL;
    if (entry != NULL && look == NULL)
        fault_set(&fault, ENOMEM, "looking at the folders of a session: %m");
    if (look == NULL) {
        session_request_refuse(reply, -ENOENT, &fault);
        return;
    }
    *look = (struct look){.patches = PATCH_JOB_NONE, .request.method = "changes"};
    look->patches.done = patches_done;
    const struct run_observer observer = {.done = look_done, .data = look};
    session_request_begin(&look->request, context, reply, entry, cancel_look);
    int r = session_look(entry->live.session, &observer, &look->cell, &fault);
    if (r == 0)
        return;
    session_request_end(&look->request);
    look_free(look);
    session_request_refuse(reply, r, &fault);
}
