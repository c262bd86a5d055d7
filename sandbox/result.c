#include "sandbox/result.h"

#include "sandbox/base/owned.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *signal_name(int signal)
{
    static _Thread_local char text[32];
    const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;
    if (name != NULL)
        snprintf(text, sizeof(text), "SIG%s", name);
    else if (signal >= SIGRTMIN && signal <= SIGRTMAX)
        snprintf(text, sizeof(text), "SIGRTMIN+%d", signal - SIGRTMIN);
    else
        snprintf(text, sizeof(text), "signal %d", signal);
    return text;
}

void run_files_release(struct run_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        fd_close(&files->list[i].fd);
        memory_release(&files->list[i].path);
    }
    files->count = 0;
}

void run_result_release(struct run_result *result)
{
    capture_release(&result->out);
    capture_release(&result->err);
    run_files_release(&result->files);
    run_files_release(&result->figures);
    for (size_t i = 0; i < result->folders.count; i++)
        fd_close(&result->folders.list[i].upper_fd);
    result->folders.count = 0;
    upper_directory_remove(&result->folders.directory);
    folder_changes_release(&result->appeared);
    memory_release(&result->network);
}

void run_result_take(struct run_result *result, struct run_result *ret_taken)
{
    *ret_taken = *result;
    *result = (struct run_result){0};
}
