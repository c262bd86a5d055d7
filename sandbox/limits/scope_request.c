#include "sandbox/limits/scope_request.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/spawn.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Of a program whose libraries are missing, and by convention of shells. */
#define EXIT_NOT_STARTED 127

/* The one line that the program prints. */
static void read_answer(struct scope_request *request, char *text, size_t size)
{
    ssize_t length = read(request->output_fd, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static int exit_code(struct scope_request *request)
{
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)request->pidfd, &info, WEXITED) < 0)
        return -errno;
    request->pid = 0;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

static void finish(struct scope_request *request, int status, const struct fault *fault)
{
    scope_request_release(request);
    request->answered(request, status, fault);
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct scope_request *request = container_of(watch, struct scope_request, end);
    struct fault fault = {0};
    char text[FAULT_TEXT_MAX / 2];
    read_answer(request, text, sizeof(text));
    int code = exit_code(request);
    int status = 0;
    if (code != 0 && text[0] != '\0')
        status = fault_set(&fault, ECONNREFUSED, "%s", text);
    else if (code == EXIT_NOT_STARTED)
        status = fault_set(&fault, ENOENT,
                           "the program that requests one cannot be started: install "
                           "code-sandbox-mcp again");
    else if (code != 0)
        status = fault_set(&fault, EIO,
                           "the program that requests a scope from systemd failed (%d)", code);
    finish(request, status, &fault);
}

static void on_deadline(struct loop_timer *timer)
{
    struct scope_request *request = container_of(timer, struct scope_request, deadline);
    struct fault fault = {0};
    int status = fault_set(&fault, ETIMEDOUT, "systemd did not provide a scope within %d s",
                           SCOPE_MAX_MS / 1000);
    finish(request, status, &fault);
}

static int start_program(struct scope_request *request, const char *program)
{
    char pid[32];
    char unit[96];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    /* A pid can recur; with the time, the name cannot. */
    snprintf(unit, sizeof(unit), "code-sandbox-mcp-%s-%llx.scope", pid,
             (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000);
    char *const arguments[] = {(char *)program, pid, unit, NULL};
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    request->output_fd = pipe_fds[0];
    OWNED_FD int output_fd = pipe_fds[1];
    const int fds[] = {SPAWN_NULL, output_fd};
    int r = spawn_start(
        &(struct spawn){
            .program = program, .arguments = arguments, .fds = fds, .fd_count = ARRAY_LENGTH(fds)},
        &request->pid);
    if (r < 0)
        return r;
    request->pidfd = (int)syscall(SYS_pidfd_open, request->pid, 0);
    return request->pidfd < 0 ? -errno : 0;
}

int scope_request_start(struct scope_request *request, struct loop *loop, const char *program,
                        struct fault *fault)
{
    request->loop = loop;
    request->end.ready = on_end;
    request->deadline.fire = on_deadline;
    int r = start_program(request, program);
    if (r == 0)
        r = loop_watch(loop, &request->end, request->pidfd, EPOLLIN);
    if (r < 0) {
        scope_request_release(request);
        return fault_set(fault, -r, "cannot start %s: %m", program);
    }
    loop_arm(loop, &request->deadline, clock_now() + SCOPE_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    return 0;
}

void scope_request_release(struct scope_request *request)
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
    fd_close(&request->output_fd);
    request->loop = NULL;
}
