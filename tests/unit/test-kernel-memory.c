#include "sandbox/limits/proc_usage.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PIPES 200
#define WATCHES 20
#define AREAS 1000
#define LOCKS 10000

static void have_nothing(void)
{
}

static void have_pipes(void)
{
    int fds[2];
    for (int i = 0; i < PIPES; i++)
        if (pipe(fds) < 0)
            _exit(1);
}

static void have_epolls(void)
{
    int event = eventfd(0, 0);
    for (int i = 0; i < WATCHES; i++) {
        int epoll = epoll_create1(0);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &(struct epoll_event){.events = EPOLLIN}) < 0)
            _exit(1);
    }
}

static void have_areas(void)
{
    char *area =
        mmap(NULL, AREAS * 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < AREAS; i++)
        if (area == MAP_FAILED || mprotect(area + i * 8192, 4096, PROT_READ) < 0)
            _exit(1);
}

static void have_locks(void)
{
    FILE *file = tmpfile();
    for (int i = 0; i < LOCKS; i++) {
        struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1};
        if (file == NULL || fcntl(fileno(file), F_SETLK, &lock) < 0)
            _exit(1);
    }
}

/* A descriptor under way in a socket. */
static void have_something_hidden(void)
{
    int fds[2];
    char buffer[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec byte = {.iov_base = (char[]){'x'}, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = buffer, .msg_controllen = sizeof(buffer)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        _exit(1);
    memcpy(CMSG_DATA(header), &fds[0], sizeof(int));
    if (sendmsg(fds[0], &message, 0) != 1)
        _exit(1);
}

static void be_unreadable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

/* What a process may have that does this. */
static uint64_t bound_of(void (*have)(void), uint64_t enough)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        have();
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    struct proc_usage usage = PROC_USAGE_NONE;
    usage.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t self = getpid(); /* the first of the walk is not counted */
    usage.root = self;
    uint64_t bytes = proc_usage_kernel_bound(&usage, enough);
    proc_usage_close(&usage);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return bytes;
}

static void what_a_process_has_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*have)(void);
        uint64_t least;
    } table[] = {
        {"pipes", have_pipes, PIPES * UINT64_C(64) * KIBIBYTE},
        {"epolls", have_epolls, WATCHES * MEBIBYTE},
        {"areas", have_areas, AREAS * UINT64_C(400)},
        {"locks", have_locks, LOCKS * UINT64_C(200)},
    };
    uint64_t nothing = bound_of(have_nothing, UINT64_MAX);
    assert_in_range(nothing, MEBIBYTE, 64 * MEBIBYTE);
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        uint64_t bytes = bound_of(table[i].have, UINT64_MAX);
        if (bytes < nothing + table[i].least || bytes > nothing + 2 * GIBIBYTE)
            fail_msg("%s: %ju, without %ju", table[i].name, (uintmax_t)bytes, (uintmax_t)nothing);
    }
}

static void what_cannot_be_seen_is_without_bound(void **state)
{
    (void)state;
    assert_int_equal(bound_of(have_something_hidden, UINT64_MAX), UINT64_MAX);
    if (geteuid() != 0)
        assert_int_equal(bound_of(be_unreadable, UINT64_MAX), UINT64_MAX);
}

static void it_stops_at_enough(void **state)
{
    (void)state;
    assert_in_range(bound_of(have_epolls, MEBIBYTE), MEBIBYTE, 15 * MEBIBYTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_process_has_counts),
        cmocka_unit_test(what_cannot_be_seen_is_without_bound),
        cmocka_unit_test(it_stops_at_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
