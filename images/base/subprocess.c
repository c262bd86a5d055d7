#include "images/base/subprocess.h"

#include "images/base/activity.h"
#include "images/base/interrupt.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/image_plan.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define TICK_NANOSECONDS 100000000L
#define WATCHES_PER_CHILD 4
#define LOOKS_PER_SILENCE 16
#define GUARD_MAX_MS 10000
#define WORDS_SIZE (FAULT_TEXT_MAX / 2 + 1)

int subprocess_pipes(struct subprocess *child, int *ret_out_fd, int *ret_err_fd,
                     struct fault *fault)
{
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "cannot make a pipe: %m");
    child->out_fd = out[0];
    *ret_out_fd = out[1];
    if (pipe2(err, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "cannot make a pipe: %m");
    child->err_fd = err[0];
    *ret_err_fd = err[1];
    return 0;
}

static void child_kill(struct subprocess *child)
{
    if (child->ended)
        return;
    if (child->group)
        kill(-child->pid, SIGKILL);
    syscall(SYS_pidfd_send_signal, child->pidfd, child->has_guard ? SIGTERM : SIGKILL, NULL, 0);
}

/* Reaps the child, waiting for its end if necessary: of a guard that does not obey, not for ever. */
static void child_reap(struct subprocess *child)
{
    siginfo_t info = {0};
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
    if (child->has_guard && poll(&end, 1, GUARD_MAX_MS) == 0)
        syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
    child->ended = true;
    if (!child->is_reported)
        child->status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

void subprocess_end(struct subprocess *child)
{
    child_kill(child);
    child_reap(child);
}

void subprocess_release(struct subprocess *child)
{
    if (!child->ended)
        subprocess_end(child);
    fd_close(&child->pidfd);
    fd_close(&child->out_fd);
    fd_close(&child->err_fd);
    fd_close(&child->report_fd);
    buffer_release(&child->out);
    buffer_release(&child->err);
}

/* Reads the pipe, discarding bytes over the cap; closes it at its end. */
static void pipe_drain(int *fd, struct buffer *kept)
{
    char bytes[16384];
    ssize_t got = read(*fd, bytes, sizeof(bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        fd_close(fd);
        return;
    }
    size_t room = kept->maximum - kept->length;
    (void)buffer_append(kept, bytes, (size_t)got < room ? (size_t)got : room);
}

static void failure_take(struct subprocess *child, const struct text_report *record)
{
    if (child->error != 0)
        return;
    int error = record->report.error;
    child->error = error > 0 && error < 4096 ? error : EPROTO;
    child->is_unexecuted = record->report.step == STEP_EXECUTE;
    fault_set(&child->fault, child->error, "%s",
              record->text[0] != '\0' ? record->text : "a child failed without saying why");
}

static void reports_drain(struct subprocess *child, const struct subprocess_observer *observer)
{
    struct text_report record = {0};
    ssize_t got = recv(child->report_fd, &record, sizeof(record), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        fd_close(&child->report_fd);
        return;
    }
    if ((size_t)got < sizeof(record.report))
        return;
    record.text[sizeof(record.text) - 1] = '\0';
    utf8_make_plain(record.text, true); /* people will see it */
    const struct message message = {record.report.index, record.number, record.text};
    int status = record.report.status;
    switch (record.report.kind) {
    case REPORT_FAILED:
        failure_take(child, &record);
        break;
    case REPORT_ENDED:
        child->is_reported = true;
        child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        break;
    case REPORT_TOLD:
        if (observer != NULL && observer->message != NULL)
            observer->message(observer->data, &message);
        break;
    default:
        break;
    }
}

static bool child_is_done(const struct subprocess *child)
{
    return child->ended && child->out_fd < 0 && child->err_fd < 0 && child->report_fd < 0;
}

static void child_watch(const struct subprocess *child, struct pollfd watches[WATCHES_PER_CHILD])
{
    watches[0] = (struct pollfd){.fd = child->out_fd, .events = POLLIN};
    watches[1] = (struct pollfd){.fd = child->err_fd, .events = POLLIN};
    watches[2] = (struct pollfd){.fd = child->report_fd, .events = POLLIN};
    watches[3] = (struct pollfd){.fd = child->ended ? -1 : child->pidfd, .events = POLLIN};
}

static void child_attend(struct subprocess *child, const struct pollfd watches[WATCHES_PER_CHILD],
                         const struct subprocess_observer *observer)
{
    if (watches[0].revents != 0)
        pipe_drain(&child->out_fd, &child->out);
    if (watches[1].revents != 0)
        pipe_drain(&child->err_fd, &child->err);
    if (watches[2].revents != 0)
        reports_drain(child, observer);
    if (watches[3].revents != 0) {
        child_reap(child);
        /* Background processes of the child would keep its pipes open. */
        if (child->group)
            kill(-child->pid, SIGKILL);
    }
}

/* Waits at most that long and handles events. 0, or -EINTR if a signal asks us to stop. */
static int children_turn(struct subprocess *children, size_t count, long nanoseconds,
                         const struct subprocess_observer *observer)
{
    struct pollfd watches[CHILDREN_MAX * WATCHES_PER_CHILD];
    for (size_t i = 0; i < count; i++)
        child_watch(&children[i], &watches[i * WATCHES_PER_CHILD]);
    sigset_t mask;
    interrupt_mask(&mask);
    const struct timespec tick = {.tv_nsec = nanoseconds};
    int ready = ppoll(watches, count * WATCHES_PER_CHILD, &tick, &mask);
    if (interrupt_signal() != 0)
        return -EINTR;
    for (size_t i = 0; ready > 0 && i < count; i++)
        child_attend(&children[i], &watches[i * WATCHES_PER_CHILD], observer);
    if (observer != NULL && observer->tick != NULL)
        observer->tick(observer->data);
    return 0;
}

/* The first child with a fault, or NULL. */
static const struct subprocess *child_at_fault(const struct subprocess *children, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (children[i].error != 0)
            return &children[i];
    return NULL;
}

static bool children_are_done(const struct subprocess *children, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!child_is_done(&children[i]))
            return false;
    return true;
}

/* Whether the children have done nothing for too long. */
static bool children_are_silent(const struct subprocess *children, size_t count,
                                struct activity *activity)
{
    const int64_t most = children[0].silence_max_ns;
    int64_t now = clock_now(), since = now - activity->looked_at;
    pid_t living[CHILDREN_MAX];
    size_t living_count = 0;
    if (since < most / LOOKS_PER_SILENCE)
        return false;
    if (since > most / 2) { /* we were stopped ourselves */
        activity_begin(activity, now);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!children[i].ended)
            living[living_count++] = children[i].pid;
    return activity_look(activity, living, living_count, now) > most;
}

/* Keeps the end of the child's stderr, which has the reason of a failure. */
static void words_take(const struct subprocess *child, char words[WORDS_SIZE])
{
    size_t length = child->err.length, kept = WORDS_SIZE - 1;
    while (length > 0 &&
           (child->err.data[length - 1] == '\n' || child->err.data[length - 1] == ' '))
        length--;
    size_t start = length > kept ? length - kept : 0;
    if (length > 0)
        memcpy(words, child->err.data + start, length - start);
    for (size_t i = 0; i < length - start; i++)
        if (words[i] == '\0')
            words[i] = '?';
    words[length - start] = '\0';
    utf8_make_plain(words, true);
}

static int silence_fault(const struct subprocess *children, size_t count, struct fault *fault)
{
    const struct subprocess *child = children;
    for (size_t i = count; i > 0; i--)
        if (!child_is_done(&children[i - 1]))
            child = &children[i - 1];
    char words[WORDS_SIZE];
    words_take(child, words);
    return fault_set(fault, ETIMEDOUT,
                     "%s made no progress for %lld s and was ended: it wrote nothing and hardly "
                     "computed. Check the free space of the image store and the network, and try "
                     "again; a command that waits on purpose has to print something meanwhile%s%s",
                     child->name, (long long)(child->silence_max_ns / NANOSECONDS_PER_SECOND),
                     words[0] != '\0' ? ". Its last words:\n" : "", words);
}

int subprocess_poll_all(struct subprocess *children, size_t count, struct fault *fault)
{
    int r = children_turn(children, count, 0, NULL);
    const struct subprocess *failed = child_at_fault(children, count);
    if (r < 0)
        return interrupt_fault(fault);
    return failed != NULL ? fault_set(fault, failed->error, "%s", failed->fault.text) : 0;
}

int subprocess_wait_all(struct subprocess *children, size_t count,
                        const struct subprocess_observer *observer, struct fault *fault)
{
    const struct subprocess *failed = NULL;
    struct activity activity = {0};
    bool is_silent = false;
    int r = 0;
    activity_begin(&activity, clock_now());
    while (r == 0 && failed == NULL && !is_silent && !children_are_done(children, count)) {
        r = children_turn(children, count, TICK_NANOSECONDS, observer);
        failed = child_at_fault(children, count);
        is_silent = children_are_silent(children, count, &activity);
    }
    for (size_t i = 0; i < count; i++)
        child_kill(&children[i]);
    if (r < 0)
        return interrupt_fault(fault);
    if (failed != NULL)
        return fault_set(fault, failed->error, "%s", failed->fault.text);
    return is_silent ? silence_fault(children, count, fault) : 0;
}

int subprocess_fault(const struct subprocess *child, const char *what, struct fault *fault)
{
    char words[WORDS_SIZE];
    words_take(child, words);
    const char *before = words[0] != '\0' ? ":\n" : "";
    if (child->status > 128)
        return fault_set(fault, EPROTO, "%s was killed by signal %d%s%s", what, child->status - 128,
                         before, words);
    return fault_set(fault, EPROTO, "%s failed with exit code %d%s%s", what, child->status, before,
                     words);
}

/*
 * Whether a program of that name exists, executable or not. execvp(3) also fails with EACCES if the
 * program does not exist and a directory of PATH may not be entered, such as one of root's after
 * su(1).
 */
static bool is_there(const char *name)
{
    const char *path = getenv("PATH");
    OWNED_MEMORY char *directories = strdup(path != NULL ? path : "/bin:/usr/bin");
    bool found = strchr(name, '/') != NULL || directories == NULL;
    for (char *rest = directories, *one; !found && (one = strsep(&rest, ":")) != NULL;) {
        char file[PATH_MAX];
        snprintf(file, sizeof(file), "%s/%s", one[0] != '\0' ? one : ".", name);
        found = faccessat(AT_FDCWD, file, F_OK, AT_EACCESS) == 0;
    }
    return found;
}

/* In the new child: becomes the program, or exits with 127 (no such program) or 126. */
static void program_become(const struct subprocess_spec *program, const int standard[3],
                           pid_t parent)
{
    interrupt_reset();
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126); /* the parent died before the prctl above */
    for (int fd = 0; fd < 3; fd++)
        if (standard[fd] < 0 || dup2(standard[fd], fd) < 0)
            _exit(126);
    for (const char *const *pair = program->environment; pair != NULL && *pair != NULL; pair++)
        putenv((char *)*pair);
    if (program->directory != NULL && chdir(program->directory) < 0) {
        dprintf(2, "cannot enter %s: %m\n", program->directory);
        _exit(126);
    }
    execvp(program->argv[0], (char *const *)program->argv);
    int error = errno;
    dprintf(2, "cannot execute %s: %m\n", program->argv[0]);
    _exit(error == ENOENT || (error == EACCES && !is_there(program->argv[0])) ? 127 : 126);
}

/* Opens a program's stdin: /dev/null, or a text. The caller owns the descriptor. */
static int input_open(const char *text, struct fault *fault)
{
    if (text == NULL) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        return fd < 0 ? fault_set(fault, errno, "cannot open /dev/null: %m") : fd;
    }
    OWNED_FD int fd = memfd_create("stdin", MFD_CLOEXEC);
    size_t length = strlen(text);
    if (fd < 0 || pwrite(fd, text, length, 0) != (ssize_t)length)
        return fault_set(fault, errno, "cannot make the input of a program: %m");
    return fd_take(&fd);
}

const char *subprocess_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

int subprocess_start(const struct subprocess_spec *program, struct subprocess *child,
                     struct fault *fault)
{
    OWNED_FD int in_fd = input_open(program->input, fault);
    if (in_fd < 0)
        return in_fd;
    OWNED_FD int out_fd = -1;
    OWNED_FD int err_fd = -1;
    int r = subprocess_pipes(child, &out_fd, &err_fd, fault);
    if (r < 0)
        return r;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return fault_set(fault, errno, "cannot start %s: %m", program->argv[0]);
    if (pid == 0)
        program_become(program, (const int[3]){in_fd, out_fd, err_fd}, parent);
    setpgid(pid, pid); /* in parent and child, to avoid a race */
    child->pid = pid;
    snprintf(child->name, sizeof(child->name), "%s", subprocess_name(program->argv[0]));
    child->group = true;
    child->ended = false;
    child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (child->pidfd < 0) {
        r = fault_set(fault, errno, "cannot open a pidfd of %s: %m", program->argv[0]);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        child->ended = true;
        return r;
    }
    return 0;
}

int subprocess_check(const struct subprocess_spec *program, const struct subprocess *child,
                     struct fault *fault)
{
    if (child->status == 0)
        return 0;
    return child->status == 127 ? -ENOENT : subprocess_fault(child, program->argv[0], fault);
}

int subprocess_run(const struct subprocess_spec *program,
                   const struct subprocess_observer *observer, struct subprocess *child,
                   struct fault *fault)
{
    int r = subprocess_start(program, child, fault);
    if (r == 0)
        r = subprocess_wait_all(child, 1, observer, fault);
    return r == 0 ? subprocess_check(program, child, fault) : r;
}
