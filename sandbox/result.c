#include "sandbox/result.h"

#include "sandbox/base/owned.h"

#include <stdio.h>
#include <string.h>

#define NOTE_SIZE 64

const char *run_start_name(enum run_start start)
{
    static const char *const names[START_COUNT] = {
        [START_COLD] = "cold", [START_PREWARMED] = "prewarmed", [START_FORKED] = "forked"};
    return names[start];
}

const char *checkpoint_hindrance_text(enum checkpoint_hindrance hindrance)
{
    static const char *const texts[HINDRANCE_COUNT] = {
        [HINDRANCE_NONE] = "",
        [HINDRANCE_THREADS] = "other threads run",
        [HINDRANCE_CHILDREN] = "it has child processes",
        [HINDRANCE_PIPES] = "it has open pipes or event queues",
        [HINDRANCE_SHARED_MEMORY] = "it has shared memory",
        [HINDRANCE_TRACED] = "a trace or profile function is set",
        [HINDRANCE_TASKS] = "tasks wait in the event loop",
        [HINDRANCE_NO_FORK] = "it could not be forked",
        [HINDRANCE_UNKNOWN] = "its state could not be read",
        [HINDRANCE_LOCKS] = "it holds locks on files",
    };
    return texts[hindrance];
}

void run_observer_show(const struct run_observer *observer, enum output_stream stream,
                       const struct capture *capture)
{
    char note[NOTE_SIZE];
    int length = snprintf(note, sizeof(note), "\n[... %llu bytes not kept ...]\n",
                          (unsigned long long)capture->cut);
    if (observer->output == NULL)
        return;
    if (capture->head.length > 0)
        observer->output(observer->data, stream, capture->head.data, capture->head.length);
    if (capture->cut > 0)
        observer->output(observer->data, stream, note, (size_t)length);
    if (capture->tail.length > 0)
        observer->output(observer->data, stream, capture->tail.data, capture->tail.length);
}

void run_files_release(struct run_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        fd_close(&files->list[i].fd);
        memory_release(&files->list[i].path);
    }
    files->count = 0;
}

void run_left_out_release(struct run_left_out *left_out)
{
    for (size_t reason = 0; reason < LEFT_REASONS; reason++) {
        for (size_t i = 0; i < left_out->count[reason]; i++)
            memory_release(&left_out->list[reason][i].path);
        left_out->count[reason] = left_out->more[reason] = 0;
    }
}

void run_compile_release(struct run_compile *compile)
{
    capture_release(&compile->out);
    capture_release(&compile->err);
}

void run_result_release(struct run_result *result)
{
    capture_release(&result->out);
    capture_release(&result->err);
    run_files_release(&result->files);
    run_files_release(&result->figures);
    run_left_out_release(&result->left_out);
    for (size_t i = 0; i < result->folders.count; i++)
        fd_close(&result->folders.list[i].upper_fd);
    result->folders.count = 0;
    upper_directory_remove(&result->folders.directory);
    buffer_release(&result->told_changes);
    buffer_release(&result->told_findings);
    folder_changes_release(&result->appeared);
    if (result->compile != NULL)
        run_compile_release(result->compile);
    memory_release(&result->compile);
    memory_release(&result->calls);
    memory_release(&result->network);
}

void run_result_take(struct run_result *result, struct run_result *ret_taken)
{
    *ret_taken = *result;
    *result = (struct run_result){0};
}
