/* Each wall of code-sandbox-mcp-changes, from inside: what it still can do, and what no longer. */
#include "interpreter/changes/changes_confine.h"

#include "interpreter/changes/entry.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "skip.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

static char directory[] = "/tmp/code-sandbox-changes-XXXXXX";
static int directory_fd;

static long open_inside(void)
{
    return open_resolved(directory_fd, "file", O_RDONLY, RESOLVE_BENEATH);
}

static long list_inside(void)
{
    return entry_open_directory(directory_fd, ".");
}

static long open_outside(void)
{
    return open_resolved(AT_FDCWD, "/etc/passwd", O_RDONLY, 0);
}

static long list_outside(void)
{
    return open_resolved(AT_FDCWD, "/etc", O_RDONLY | O_DIRECTORY, 0);
}

static long write_inside(void)
{
    return open_resolved(directory_fd, "file", O_WRONLY, 0);
}

static long truncate_inside(void)
{
    return open_resolved(directory_fd, "file", O_RDONLY | O_TRUNC, 0);
}

static long make_inside(void)
{
    return syscall(SYS_openat, directory_fd, "new", O_WRONLY | O_CREAT, 0600) < 0 ? -errno : 0;
}

static long map_data(void)
{
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? -errno : 0;
}

static long map_code(void)
{
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? -errno : 0;
}

static long make_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? -errno : 0;
}

static long make_process(void)
{
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? -errno : 0;
}

static long execute(void)
{
    static char *const arguments[] = {(char *)"true", NULL};
    execve("/bin/true", arguments, arguments + 1);
    return -errno;
}

static long kill_parent(void)
{
    return kill(getppid(), 0) < 0 ? -errno : 0;
}

static long raise_limit(void)
{
    const struct rlimit limit = {1, 1};
    return setrlimit(RLIMIT_CPU, &limit) < 0 ? -errno : 0;
}

enum stage { STAGE_NONE, STAGE_READING, STAGE_COMPARING };

/* The errno that the call leaves in that stage; 0 when it succeeds. */
static int errno_in(enum stage stage, long (*call)(void))
{
    struct fault fault = {0};
    OWNED(confine_release) struct confinement confinement = {0};
    const int fds[2] = {directory_fd, directory_fd};
    assert_int_equal(confine_prepare(&confinement, &fault), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (stage >= STAGE_READING && confine_reading(&confinement, fds, &fault) < 0)
            _exit(255);
        if (stage >= STAGE_COMPARING && confine_comparing(&confinement, &fault) < 0)
            _exit(255);
        long r = call();
        _exit(r < 0 ? (int)-r : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1U) >= 3;
}

static void reads_what_it_is_given(void **state)
{
    (void)state;
    assert_int_equal(errno_in(STAGE_READING, open_inside), 0);
    assert_int_equal(errno_in(STAGE_READING, list_inside), 0);
    assert_int_equal(errno_in(STAGE_READING, map_data), 0);
}

static void opens_nothing_else(void **state)
{
    (void)state;
    static long (*const calls[])(void) = {open_outside, list_outside, write_inside,
                                          truncate_inside};
    if (!has_landlock())
        skip_because("this kernel has no Landlock");
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
        assert_int_equal(errno_in(STAGE_NONE, calls[i]), 0);
        if (errno_in(STAGE_READING, calls[i]) != EACCES)
            fail_msg("call %zu", i);
    }
}

static void opens_nothing_while_it_compares(void **state)
{
    (void)state;
    static long (*const calls[])(void) = {open_inside, list_inside, open_outside, write_inside,
                                          make_inside};
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
        assert_int_equal(errno_in(STAGE_COMPARING, calls[i]), EPERM);
    assert_int_equal(errno_in(STAGE_COMPARING, map_data), 0);
}

static void does_nothing_else_in_any_stage(void **state)
{
    (void)state;
    static long (*const calls[])(void) = {make_inside, map_code,    make_socket, make_process,
                                          execute,     kill_parent, raise_limit};
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
        for (enum stage stage = STAGE_READING; stage <= STAGE_COMPARING; stage++)
            if (errno_in(stage, calls[i]) != EPERM)
                fail_msg("call %zu in stage %d", i, stage);
    }
}

static long check_limits(void)
{
    static const struct {
        __rlimit_resource_t resource;
        rlim_t most;
    } limits[] = {{RLIMIT_CPU, 60}, {RLIMIT_CORE, 0}, {RLIMIT_FSIZE, 64 << 20}};
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) < 0 || limit.rlim_max > limits[i].most)
            return -ERANGE;
    }
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}

/* The filter refuses getrlimit: a stage without it tells. */
static void limits_itself(void **state)
{
    (void)state;
    const int fds[2] = {directory_fd, directory_fd};
    struct fault fault = {0};
    static struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U)};
    const struct confinement open_filters = {.reading = {allow, 1}, .comparing = {allow, 1}};
    pid_t pid = fork();
    if (pid == 0) {
        int r = confine_reading(&open_filters, fds, &fault);
        _exit(r < 0 ? 255 : (int)-check_limits());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int make_directory(void **state)
{
    (void)state;
    char path[64];
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/file", directory);
    OWNED_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || directory_fd < 0 ? -1 : 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlinkat(directory_fd, "file", 0);
    unlinkat(directory_fd, "new", 0);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_is_given),
        cmocka_unit_test(opens_nothing_else),
        cmocka_unit_test(opens_nothing_while_it_compares),
        cmocka_unit_test(does_nothing_else_in_any_stage),
        cmocka_unit_test(limits_itself),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
