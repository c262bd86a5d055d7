#include "interpreter/folders/changes_request.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spawn.h"
#include "sandbox/base/text_file.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Of a program whose libraries are missing, and by convention of shells. */
#define EXIT_NOT_STARTED 127

/* Waits for the program, which has ended or is killed. Its exit code, or 128 + signal. */
static int reap(struct changes_request *request)
{
    siginfo_t info = {0};
    int r;
    do {
        r = waitid(P_PIDFD, (id_t)request->pidfd, &info, WEXITED);
    } while (r < 0 && errno == EINTR);
    request->pid = 0;
    if (r < 0)
        return -errno;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

static int take_report(struct changes_request *request, struct changes *changes,
                       struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(CHANGES_REPORT_MAX);
    if (lseek(request->report_fd, 0, SEEK_SET) < 0 ||
        text_file_read_all(request->report_fd, &text) < 0)
        return fault_set(fault, EIO, "the report of changes cannot be read");
    return changes_read(text.data != NULL ? text.data : "", text.length, changes, fault);
}

/* The size is checked, as is the report; what the patch says is for people and git to judge. */
static int take_patch(struct changes_request *request, struct changes *changes, struct fault *fault)
{
    struct stat about;
    if (fstat(request->patch_fd, &about) < 0 || (uint64_t)about.st_size != changes->patch_bytes)
        return fault_set(fault, EIO, "the patch of the changes has another size than reported");
    if (changes->patch_bytes > 0)
        changes->patch_fd = fd_take(&request->patch_fd);
    return 0;
}

static int take_answer(struct changes_request *request, int code, struct changes *changes,
                       struct fault *fault)
{
    if (code == 128 + SIGXCPU)
        return fault_set(fault, ETIME, "comparing took more than %d s of processor time",
                         CHANGES_CPU_MAX_S);
    if (code == EXIT_NOT_STARTED)
        return fault_set(fault, ENOENT,
                         "code-sandbox-mcp-changes cannot be started: is libgit2 installed?");
    if (code != EXIT_SUCCESS && code != EXIT_FAILURE)
        return fault_set(fault, EIO, "code-sandbox-mcp-changes failed (%d)", code);
    int r = take_report(request, changes, fault);
    return r < 0 ? r : take_patch(request, changes, fault);
}

static void finish(struct changes_request *request, int status, struct changes *changes,
                   const struct fault *fault)
{
    changes_request_release(request);
    request->answered(request, status, changes, fault);
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct changes_request *request = container_of(watch, struct changes_request, end);
    OWNED(changes_release) struct changes changes = CHANGES_NONE;
    struct fault fault = {0};
    int r = take_answer(request, reap(request), &changes, &fault);
    finish(request, r, &changes, &fault);
}

static void on_deadline(struct loop_timer *timer)
{
    struct changes_request *request = container_of(timer, struct changes_request, deadline);
    OWNED(changes_release) struct changes changes = CHANGES_NONE;
    struct fault fault = {0};
    int r =
        fault_set(&fault, ETIMEDOUT, "comparing took more than %d s", CHANGES_WALL_MAX_MS / 1000);
    finish(request, r, &changes, &fault);
}

/* The program gets its descriptors and no other, and no input or output. */
static int spawn_program(struct changes_request *request, const struct changes_spec *spec)
{
    const int fds[] = {SPAWN_NULL,    SPAWN_NULL,        SPAWN_NULL,        spec->upper_fd,
                       spec->host_fd, request->patch_fd, request->report_fd};
    char seconds[32], nanoseconds[32];
    snprintf(seconds, sizeof(seconds), "%lld", (long long)spec->since.tv_sec);
    snprintf(nanoseconds, sizeof(nanoseconds), "%ld", spec->since.tv_nsec);
    char *const arguments[] = {(char *)spec->program, seconds, nanoseconds, NULL};
    return spawn_start(&(struct spawn){.program = spec->program,
                                       .arguments = arguments,
                                       .fds = fds,
                                       .fd_count = ARRAY_LENGTH(fds)},
                       &request->pid);
}

static int start_program(struct changes_request *request, const struct changes_spec *spec)
{
    request->patch_fd = memfd_create("patch", MFD_CLOEXEC);
    request->report_fd = memfd_create("report", MFD_CLOEXEC);
    if (request->patch_fd < 0 || request->report_fd < 0)
        return -errno;
    int r = spawn_program(request, spec);
    if (r < 0)
        return r;
    request->pidfd = (int)syscall(SYS_pidfd_open, request->pid, 0);
    return request->pidfd < 0 ? -errno : 0;
}

int changes_request_start(struct changes_request *request, struct loop *loop,
                          const struct changes_spec *spec, struct fault *fault)
{
    request->loop = loop;
    request->end.ready = on_end;
    request->deadline.fire = on_deadline;
    int r = start_program(request, spec);
    if (r == 0)
        r = loop_watch(loop, &request->end, request->pidfd, EPOLLIN);
    if (r < 0) {
        changes_request_release(request);
        return fault_set(fault, -r, "cannot start %s: %m", spec->program);
    }
    loop_arm(loop, &request->deadline,
             clock_now() + CHANGES_WALL_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    return 0;
}

void changes_request_release(struct changes_request *request)
{
    if (request->loop == NULL)
        return;
    loop_unwatch(request->loop, &request->end);
    loop_disarm(request->loop, &request->deadline);
    if (request->pid > 0) {
        kill(request->pid, SIGKILL);
        while (waitpid(request->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    request->pid = 0;
    fd_close(&request->pidfd);
    fd_close(&request->patch_fd);
    fd_close(&request->report_fd);
    request->loop = NULL;
}
