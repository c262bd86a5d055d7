#include "images/unpack/unpack.h"

#include "images/unpack/copy.h"
#include "images/unpack/extract.h"
#include "images/unpack/jailed.h"
#include "sandbox/base/owned.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define WORKERS 2

/* Seen by the parent and all workers. */
struct shared {
    struct tree_usage usage;
    atomic_size_t next; /* package for the next free worker */
    atomic_size_t done;
};

struct job {
    struct shared *shared; /* a shared mapping */
    const int *fds;        /* of the archives */
    size_t count;
};

static int tar_body(void *data, struct fault *fault)
{
    struct job *job = data;
    return extract_tar(job->fds[0], &job->shared->usage, fault);
}

/* One worker: unpacks packages until none is left. */
static int packages_body(void *data, struct fault *fault)
{
    struct job *job = data;
    OWNED(member_writer_close) struct member_writer writer;
    member_writer_open(&writer, &job->shared->usage, TREE_PACKAGES);
    for (;;) {
        size_t number = atomic_fetch_add(&job->shared->next, 1);
        if (number >= job->count)
            return 0;
        int r = extract_package(job->fds[number], number, &writer, fault);
        if (r < 0)
            return r;
        atomic_fetch_add(&job->shared->done, 1);
    }
}

static void shared_release(struct shared **shared)
{
    if (*shared != NULL)
        munmap(*shared, sizeof(**shared));
}

static int shared_make(struct shared **ret_shared, struct fault *fault)
{
    void *pages = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return fault_set(fault, errno, "cannot map memory to share with a child: %m");
    *ret_shared = pages;
    return 0;
}

struct tar_progress {
    struct progress *progress;
    int fd;
    uint64_t size;
};

/* The child reads through a copy of our descriptor, so they share the position. */
static void tar_tick(void *data)
{
    const struct tar_progress *at = data;
    off_t position = lseek(at->fd, 0, SEEK_CUR);
    if (position > 0)
        progress_amount(at->progress, (uint64_t)position, at->size);
}

int unpack_tar(const char *root, int archive_fd, struct progress *progress, struct fault *fault)
{
    OWNED(shared_release) struct shared *shared = NULL;
    int r = shared_make(&shared, fault);
    if (r < 0)
        return r;
    struct stat status = {0};
    (void)fstat(archive_fd, &status);
    struct job job = {shared, &archive_fd, 1};
    const struct image_jail jail = {
        .root = root,
        .body = tar_body,
        .data = &job,
        .fds = job.fds,
        .fd_count = job.count,
    };
    struct tar_progress at = {progress, archive_fd, (uint64_t)status.st_size};
    const struct subprocess_observer observer = {.tick = tar_tick, .data = &at};
    return jailed_run(&jail, &observer, fault);
}

static int directory_body(void *data, struct fault *fault)
{
    struct job *job = data;
    return copy_directory(job->fds[0], &job->shared->usage, fault);
}

int unpack_directory(const char *root, int directory_fd, struct fault *fault)
{
    OWNED(shared_release) struct shared *shared = NULL;
    int r = shared_make(&shared, fault);
    if (r < 0)
        return r;
    struct job job = {shared, &directory_fd, 1};
    const struct image_jail jail = {
        .root = root,
        .body = directory_body,
        .data = &job,
        .fds = job.fds,
        .fd_count = job.count,
    };
    return jailed_run(&jail, NULL, fault);
}

struct packages_progress {
    struct progress *progress;
    const struct job *job;
};

static void packages_tick(void *data)
{
    const struct packages_progress *at = data;
    progress_amount(at->progress, atomic_load(&at->job->shared->done), at->job->count);
}

static void workers_release(struct subprocess (*workers)[WORKERS])
{
    for (size_t i = 0; i < WORKERS; i++)
        subprocess_release(&(*workers)[i]);
}

int unpack_packages(const char *root, const int *fds, size_t count, struct progress *progress,
                    struct fault *fault)
{
    OWNED(shared_release) struct shared *shared = NULL;
    int r = shared_make(&shared, fault);
    if (r < 0)
        return r;
    struct job job = {shared, fds, count};
    const struct image_jail jail = {
        .root = root,
        .body = packages_body,
        .data = &job,
        .fds = fds,
        .fd_count = count,
    };
    OWNED(workers_release) struct subprocess workers[WORKERS] = {SUBPROCESS_NONE, SUBPROCESS_NONE};
    for (size_t i = 0; r == 0 && i < WORKERS; i++)
        r = jailed_start(&jail, &workers[i], fault);
    struct packages_progress at = {progress, &job};
    const struct subprocess_observer observer = {.tick = packages_tick, .data = &at};
    if (r == 0)
        r = subprocess_wait_all(workers, WORKERS, &observer, fault);
    for (size_t i = 0; r == 0 && i < WORKERS; i++)
        r = jailed_check(&workers[i], fault);
    return r;
}
