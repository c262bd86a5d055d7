#include "interpreter/metrics/metrics_file.h"

#include "interpreter/base/log.h"
#include "sandbox/base/io.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MODE 0644 /* a collector is another user */

/* Beside the file, because rename(2) does not cross file systems. */
static int replace(const char *path, const struct buffer *text)
{
    OWNED_MEMORY char *name = NULL;
    if (asprintf(&name, "%s.%d", path, (int)getpid()) < 0)
        return -ENOMEM;
    unlink(name); /* of a process with the same number that was killed here */
    OWNED_FD int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return -errno;
    int r = io_write(fd, text->data, text->length);
    if (r == 0 && rename(name, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(name);
    return r;
}

static int write_file(const struct metrics_file *file, const struct metrics_now *now,
                      struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(METRICS_TEXT_MAX);
    int r = metrics_write(&file->metrics, now, &text);
    if (r == 0)
        r = replace(file->path, &text);
    struct stat there;
    if (r < 0 && stat(file->path, &there) == 0 && S_ISDIR(there.st_mode))
        r = -EISDIR; /* rename(2) has another word for `.` */
    if (r < 0)
        return fault_set(fault, -r, "writing %s, the file of --metrics-file: %m", file->path);
    return 0;
}

static void wake(struct metrics_file *file)
{
    if (file->timer.fire != NULL && !file->timer.armed)
        loop_arm(file->loop, &file->timer,
                 clock_now() + METRICS_PAUSE_MS * NANOSECONDS_PER_MILLISECOND);
}

/* Nothing wakes an idle process: the timer goes on only while something does. */
static void write_again(struct loop_timer *timer)
{
    struct metrics_file *file = container_of(timer, struct metrics_file, timer);
    struct metrics_now now = {0};
    struct fault fault = {0};
    file->look(file->data, &now);
    int r = write_file(file, &now, &fault);
    if (r < 0 && !file->has_failed)
        log_note("%s", fault.text);
    file->has_failed = r < 0;
    if (now.running + now.queued > 0)
        wake(file);
}

int metrics_file_open(struct metrics_file *file, struct fault *fault)
{
    struct metrics_now now = {0};
    if (file->path == NULL)
        return 0;
    file->look(file->data, &now);
    int r = write_file(file, &now, fault);
    file->timer.fire = r == 0 ? write_again : NULL;
    return r;
}

void metrics_file_close(struct metrics_file *file)
{
    if (file->timer.fire == NULL)
        return;
    const struct metrics_now nothing = {0};
    struct fault fault = {0};
    if (file->timer.armed)
        loop_disarm(file->loop, &file->timer);
    file->timer.fire = NULL;
    if (write_file(file, &nothing, &fault) < 0 && !file->has_failed)
        log_note("%s", fault.text);
}

void metrics_file_count_run(struct metrics_file *file, const struct language *language,
                            const struct run_result *result)
{
    metrics_count_run(&file->metrics, language, result);
    wake(file);
}

void metrics_file_count_not_run(struct metrics_file *file, enum not_run reason)
{
    metrics_count_not_run(&file->metrics, reason);
    wake(file);
}

void metrics_file_count_command(struct metrics_file *file, const struct command_result *result)
{
    metrics_count_command(&file->metrics, result);
    wake(file);
}

void metrics_file_count_command_not_run(struct metrics_file *file, enum not_run reason)
{
    metrics_count_command_not_run(&file->metrics, reason);
    wake(file);
}
