/* Files of sessions that are not there: each has its path for its bytes, and a directory its path for its only name. */
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session_file.h"
#include "tests/fuzz/fake-launcher.h"
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

struct session_file {
    struct session_file *previous, *next;
    struct session *session;
    struct file_observer observer;
    struct loop_timer end;
    char *path; /* owned */
};

static void file_free(struct session_file *file)
{
    LIST_REMOVE(file->session->files, file);
    if (file->end.armed)
        loop_disarm(file->session->launcher->loop, &file->end);
    free(file->path);
    free(file);
}

static void end(struct session_file *file, int status)
{
    const struct file_observer observer = file->observer;
    const struct fault fault = {"lost", "its session has ended"};
    OWNED_MEMORY char *path = pointer_take(&file->path);
    const struct file_entry entry = {
        .name = path, .mode = S_IFREG | 0644, .size = strlen(path), .modified_s = 1};
    const struct file_result result = {
        .entry = entry,
        .bytes = path,
        .length = strlen(path),
        .is_end = true,
        .entries = &entry,
        .entry_count = 1,
    };
    file_free(file);
    observer.done(observer.data, status, status < 0 ? NULL : &result, status < 0 ? &fault : NULL);
}

static void on_end(struct loop_timer *timer)
{
    end(container_of(timer, struct session_file, end), 0);
}

void fake_files_lose(struct session *session)
{
    while (session->files != NULL)
        end(session->files, -ESRCH);
}

void fake_files_forget(struct session *session)
{
    while (session->files != NULL)
        file_free(session->files);
}

int session_file(struct session *session, const struct file_spec *spec,
                 const struct file_observer *observer, struct session_file **ret_file,
                 struct fault *fault)
{
    FUZZ_CHECK(spec->path[0] != '\0' && strlen(spec->path) < PATH_MAX && spec->wall_ms > 0);
    FUZZ_CHECK(spec->length <= FILE_PIECE_MAX && (spec->mode & ~0777U) == 0);
    FUZZ_CHECK((spec->operation == FILE_MOVE) == (spec->to != NULL));
    FUZZ_CHECK(spec->operation != FILE_WRITE || spec->bytes != NULL);
    if (spec->path[0] == FAKE_REFUSED)
        return fault_set(fault, EAGAIN, "refused: %m");
    struct session_file *file = calloc(1, sizeof(*file));
    FUZZ_CHECK(file != NULL);
    *file = (struct session_file){
        .session = session,
        .observer = *observer,
        .end = {.fire = on_end},
        .path = strdup(spec->path),
    };
    FUZZ_CHECK(file->path != NULL);
    LIST_PREPEND(session->files, file);
    if (session->launcher->loop != NULL)
        loop_arm(session->launcher->loop, &file->end, clock_now());
    *ret_file = file;
    return 0;
}

void session_file_cancel(struct session_file *file)
{
    file_free(file);
}
