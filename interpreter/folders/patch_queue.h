/*
 * Patches of the overlay folders of ended runs, made one after another.
 *
 * Each run is a job. At most CHANGES_PROGRAMS_MAX jobs are worked on at once. While others wait, `hold`
 * keeps further runs from beginning: what a waiting job has of an upper layer is memory.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_FOLDERS_PATCH_QUEUE_H
#define INTERPRETER_FOLDERS_PATCH_QUEUE_H

#include "interpreter/folders/changes_request.h"
#include "interpreter/folders/folder_patches.h"
#include "sandbox/result.h"

struct patch_queue;

struct patch_job {
    /* Set by the caller: called once when all is known, maybe already by patch_queue_add(). */
    void (*done)(struct patch_job *job);
    struct folder_patches patches; /* the caller's to release, then */
    /* Private to patch_queue.c. */
    struct patch_queue *queue; /* borrowed; NULL: not in one */
    struct run_folders *folders; /* borrowed; descriptors are closed as early as possible */
    struct changes_request request;
    struct patch_job *previous, *next;
    bool is_begun;
};

#define PATCH_JOB_NONE ((struct patch_job){.request = CHANGES_REQUEST_NONE})

struct patch_queue {
    struct loop *loop; /* borrowed */
    void (*hold)(void *data, bool hold); /* or NULL */
    void *data;
    struct patch_job *waiting; /* the first */
    size_t working;
    char *program; /* owned; NULL: not looked for yet */
};

struct patch_queue patch_queue_of(struct loop *loop, void (*hold)(void *data, bool hold),
                                  void *data);

/* All jobs must be done or dropped. */
void patch_queue_release(struct patch_queue *queue);

/*
 * Adds a job for the folders of a result, which stays the caller's, at the same place, until the job is done or
 * dropped; of a run elsewhere, what its worker told. What fails is told in the patches.
 */
void patch_queue_add(struct patch_queue *queue, struct patch_job *job, struct run_result *result);

/* Nobody waits for the job any more, if it is in a queue: ends its program. Releases its patches. */
void patch_job_drop(struct patch_job *job);

#endif
