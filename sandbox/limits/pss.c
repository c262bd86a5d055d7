#include "sandbox/limits/pss.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

void pss_check(struct pss *sum)
{
    struct pss_sum memory;
    ssize_t length = sum->loop == NULL ? 0 : read(sum->answer_fd, &memory, sizeof(memory));
    if (sum->loop == NULL || (length < 0 && errno == EAGAIN))
        return;
    if (length != (ssize_t)sizeof(memory))
        memory = (struct pss_sum){.bytes = UINT64_MAX};
    pss_release(sum);
    sum->done(sum, &memory);
}

static void on_answer(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    pss_check(container_of(watch, struct pss, answer));
}

static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

/*
 * What the kernel holds but for sockets, which are counted: as much as the machine's kernel memory grew, but no more than
 * this jail can have, so that it does not end for what others took.
 */
static uint64_t kernel_part(const struct proc_usage *usage, uint64_t sockets)
{
    if (usage->kernel_growth <= sockets)
        return 0;
    uint64_t grown = usage->kernel_growth - sockets;
    uint64_t most = proc_usage_kernel_bound(usage, grown);
    return most < grown ? most : grown;
}

__attribute__((noreturn)) static void measure_pss(const struct proc_usage *usage, uint64_t enough,
                                                  pid_t parent, int answer_fd)
{
    die_with(parent);
    uint64_t sockets = socket_memory_sum(&usage->sockets);
    struct pss_sum memory = {.bytes = sockets};
    die_with(parent); /* setns(2) took the signal away */
    /* First what grows fastest. */
    if (memory.bytes <= enough)
        memory.kernel_bytes = kernel_part(usage, sockets);
    memory.bytes += memory.kernel_bytes;
    memory.is_steady = true;
    if (memory.bytes <= enough) {
        const struct proc_census before = proc_usage_census(usage);
        memory.bytes += proc_usage_pss(usage, enough - memory.bytes);
        const struct proc_census after = proc_usage_census(usage);
        memory.is_steady = proc_census_is_same(&before, &after);
    }
    _exit(write(answer_fd, &memory, sizeof(memory)) == (ssize_t)sizeof(memory) ? 0 : 1);
}

int pss_start(struct pss *sum, struct loop *loop, const struct proc_usage *usage, uint64_t enough)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    sum->loop = loop;
    sum->answer_fd = pipe_fds[0];
    sum->answer.ready = on_answer;
    sum->begun_at = clock_now();
    OWNED_FD int answer_fd = pipe_fds[1];
    pid_t parent = getpid();
    sum->pid = fork();
    if (sum->pid == 0)
        measure_pss(usage, enough, parent, answer_fd);
    int r = sum->pid < 0 ? -errno : loop_watch(loop, &sum->answer, sum->answer_fd, EPOLLIN);
    if (r < 0)
        pss_release(sum);
    return r;
}

int64_t pss_blocked_ns(const struct pss *sum)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/schedstat", sum->pid);
    char text[80];
    text_file_read(AT_FDCWD, path, text, sizeof(text));
    int64_t worked = 0;
    int64_t queued = 0;
    sscanf(text, "%" SCNd64 " %" SCNd64, &worked, &queued);
    return clock_now() - sum->begun_at - worked - queued;
}

void pss_release(struct pss *sum)
{
    if (sum->loop == NULL)
        return;
    loop_unwatch(sum->loop, &sum->answer);
    fd_close(&sum->answer_fd);
    if (sum->pid > 0) {
        kill(sum->pid, SIGKILL);
        while (waitpid(sum->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    sum->pid = 0;
    sum->loop = NULL;
}
