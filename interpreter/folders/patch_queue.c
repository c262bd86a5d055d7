#include "interpreter/folders/patch_queue.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/helpers.h"
#include "interpreter/folders/carried_changes.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct patch_queue patch_queue_of(struct loop *loop, void (*hold)(void *data, bool hold),
                                  void *data)
{
    return (struct patch_queue){.loop = loop, .hold = hold, .data = data};
}

void patch_queue_release(struct patch_queue *queue)
{
    memory_release(&queue->program);
}

static int find_program(struct patch_queue *queue, struct fault *fault)
{
    if (queue->program != NULL)
        return 0;
    int r = helpers_find(CHANGES_PROGRAM, CHANGES_FOLDER, &queue->program);
    return r == 0 ? 0
                  : fault_set(fault, -r,
                              "cannot find the program " CHANGES_PROGRAM
                              ": install code-sandbox-mcp again");
}

/* Nothing was written: the usual case needs no program. */
static bool is_empty(int upper_fd)
{
    OWNED(directory_release) DIR *directory = directory_open(upper_fd, ".");
    errno = 0;
    return directory != NULL && directory_next(directory) == NULL && errno == 0;
}

static void tell_failure(struct folder_patch *patch, const struct fault *fault)
{
    patch->failure = strdup(fault->text);
    if (patch->failure == NULL) /* "" says as much as that something failed */
        patch->failure = calloc(1, 1);
}

static void work(struct patch_job *job);

static void on_answer(struct changes_request *request, int status, struct changes *changes,
                      const struct fault *fault)
{
    struct patch_job *job = container_of(request, struct patch_job, request);
    struct folder_patch *patch = &job->patches.list[job->patches.count - 1];
    fd_close(&job->folders->list[job->patches.count - 1].upper_fd);
    if (status < 0) {
        tell_failure(patch, fault);
    } else {
        patch->changes = *changes;
        *changes = CHANGES_NONE;
    }
    work(job);
}

/* Asks for the changes of the next folder. 0: the answer will come; 1: there is nothing to ask. */
static int ask(struct patch_job *job)
{
    struct run_folder *folder = &job->folders->list[job->patches.count];
    struct folder_patch *patch = &job->patches.list[job->patches.count++];
    *patch = (struct folder_patch){.folder = folder->folder->path, .changes = CHANGES_NONE};
    struct fault fault = {0};
    int r = is_empty(folder->upper_fd) ? 1 : find_program(job->queue, &fault);
    if (r == 0) {
        const struct changes_spec spec = {
            .program = job->queue->program,
            .upper_fd = folder->upper_fd,
            .host_fd = folder->folder->fd,
            .since = folder->since,
        };
        job->request.answered = on_answer;
        r = changes_request_start(&job->request, job->queue->loop, &spec, &fault);
    }
    if (r < 0)
        tell_failure(patch, &fault);
    if (r != 0)
        fd_close(&folder->upper_fd);
    return r != 0;
}

/* Begins the jobs that may. */
static void begin_next(struct patch_queue *queue)
{
    while (queue->waiting != NULL && queue->working < CHANGES_PROGRAMS_MAX) {
        struct patch_job *job = queue->waiting;
        LIST_REMOVE(queue->waiting, job);
        if (queue->waiting == NULL && queue->hold != NULL)
            queue->hold(queue->data, false);
        job->is_begun = true;
        queue->working++;
        work(job);
    }
}

static void leave(struct patch_job *job)
{
    struct patch_queue *queue = job->queue;
    job->queue = NULL;
    queue->working--;
    begin_next(queue);
}

/* Asks for one folder after the other, and tells the end. */
static void work(struct patch_job *job)
{
    while (job->patches.count < job->folders->count) {
        if (ask(job) == 0)
            return;
    }
    leave(job);
    job->done(job);
}

void patch_queue_add(struct patch_queue *queue, struct patch_job *job, struct run_result *result)
{
    job->queue = queue;
    job->folders = &result->folders;
    job->patches = (struct folder_patches){.lost = result->folders.lost};
    if (result->told_changes.length > 0)
        carried_changes_read(&result->told_changes, &job->patches);
    LIST_APPEND(queue->waiting, job);
    if (queue->working >= CHANGES_PROGRAMS_MAX && queue->hold != NULL)
        queue->hold(queue->data, true);
    begin_next(queue);
}

void patch_job_drop(struct patch_job *job)
{
    struct patch_queue *queue = job->queue;
    if (queue != NULL && job->is_begun) {
        changes_request_release(&job->request);
        leave(job);
    } else if (queue != NULL) {
        LIST_REMOVE(queue->waiting, job);
        job->queue = NULL;
        if (queue->waiting == NULL && queue->hold != NULL)
            queue->hold(queue->data, false);
    }
    folder_patches_release(&job->patches);
}
