#include "mcp/context_open.h"
#include "mcp/resources/resources.h"

static void hold_for_patches(void *data, bool hold)
{
    struct context *context = data;
    launcher_hold(&context->launcher, HOLD_PATCHES, hold);
}

int context_open(struct context *context, const struct settings *settings, struct fault *fault)
{
    *context = (struct context){
        .loop = {.epoll_fd = -1},
        .settings = settings,
        .launcher = launcher_of(&context->loop, settings),
        .metrics = {.loop = &context->loop,
                    .path = settings->metrics_file,
                    .look = launcher_look,
                    .data = &context->launcher},
        .sessions = session_table_of(&context->loop, settings),
        .files = {.changed = resources_changed, .data = context},
        .patches = patch_queue_of(&context->loop, hold_for_patches, context),
        .directory = {settings->files_dir, false, settings->files_dir_fd},
    };
    launcher_prewarm(&context->launcher);
    int r = loop_open(&context->loop);
    if (r < 0)
        return fault_set(fault, -r, "starting the server: %m");
    r = checker_open(&context->checker, &context->loop, settings, fault);
    return r == 0 ? metrics_file_open(&context->metrics, fault) : r;
}

void context_stop(struct context *context)
{
    open_requests_conclude(&context->requests);
    open_requests_cancel_all(&context->requests, NULL);
    checker_stop(&context->checker);
    launcher_release(&context->launcher);
    session_table_release(&context->sessions);
}

void context_close(struct context *context)
{
    metrics_file_close(&context->metrics);
    context_stop(context);
    checker_release(&context->checker);
    outputs_release(&context->outputs);
    kept_files_release(&context->files);
    patch_queue_release(&context->patches);
    loop_close(&context->loop);
}
