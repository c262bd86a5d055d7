#include "sandbox/base/owned.h"
#include "sandbox/jail/filter.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

static long nothing(void)
{
    return 0;
}

static long write_file(void)
{
    OWNED_FD int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : write(fd, "x", 1);
}

static long map_data(void)
{
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? -1 : 0;
}

static long map_code(void)
{
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? -1 : 0;
}

static long make_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long make_process(void)
{
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return pid;
}

static long execute(void)
{
    static char *const arguments[] = {(char *)"true", NULL};
    return execve("/bin/true", arguments, arguments + 1);
}

static long new_namespace(void)
{
    return syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */);
}

static long make_device(void)
{
    return mknod("/tmp/code-sandbox-fifo", S_IFIFO | 0600, 0);
}

static long load_filter(void)
{
    return syscall(SYS_bpf, 0, NULL, 0);
}

/* What errno the call leaves behind the filter; 0 when it succeeds; -1 when the process dies. */
static int errno_behind_filter(long (*call)(void))
{
    OWNED(filter_release) struct filter filter = {0};
    assert_int_equal(filter_compile_unpack(&filter, NULL), 0);
    const struct sock_fprog program = {filter.length, filter.code};
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
            _exit(255);
        _exit(call() < 0 ? errno : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void files_and_memory_work(void **state)
{
    (void)state;
    assert_int_equal(errno_behind_filter(nothing), 0);
    assert_int_equal(errno_behind_filter(write_file), 0);
    assert_int_equal(errno_behind_filter(map_data), 0);
}

static void everything_else_is_refused(void **state)
{
    (void)state;
    static long (*const calls[])(void) = {map_code,      make_socket, make_process, execute,
                                          new_namespace, make_device, load_filter};
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
        if (errno_behind_filter(calls[i]) != EPERM)
            fail_msg("call %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_memory_work),
        cmocka_unit_test(everything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
