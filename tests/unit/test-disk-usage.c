#include "sandbox/limits/disk_usage.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/limits/limits.h"
#include "skip.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_BYTES (UINT64_C(256) * KIBIBYTE)

static const struct disk_usage unbounded = {UINT64_MAX, UINT64_MAX};

static int directory_make(void **state)
{
    static char path[64];
    strcpy(path, "/tmp/test-disk-usage-XXXXXX");
    *state = mkdtemp(path);
    return *state == NULL || chdir(path) < 0 ? -1 : 0;
}

static int directory_remove(void **state)
{
    return chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, *state);
}

static void write_file(const char *name)
{
    static char bytes[FILE_BYTES];
    memset(bytes, 'x', sizeof(bytes));
    OWNED_FD int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
}

static struct disk_usage usage_below(const struct disk_usage *most, int expected)
{
    OWNED_FD int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct disk_usage usage = {0};
    assert_int_equal(disk_usage_add_tree(fd, most, &usage), expected);
    return usage;
}

/* Directories take space of their own, which differs between file systems. */
static void assert_bytes(const struct disk_usage *usage, uint64_t bytes)
{
    assert_in_range(usage->bytes, bytes, bytes + FILE_BYTES / 2);
}

static void files_count_once_whatever_their_names(void **state)
{
    (void)state;
    struct disk_usage usage = usage_below(&unbounded, 0);
    assert_int_equal(usage.files, 0);
    write_file("one");
    assert_int_equal(mkdir("d", 0700), 0);
    assert_int_equal(mkdir("d/e", 0700), 0);
    write_file("d/e/two");
    assert_int_equal(link("one", "d/again"), 0);
    assert_int_equal(symlink("/", "d/link"), 0);
    assert_int_equal(mkfifo("d/fifo", 0600), 0);
    usage = usage_below(&unbounded, 0);
    assert_int_equal(usage.files, 7);
    assert_bytes(&usage, 2 * FILE_BYTES);
}

static void reserved_space_counts_and_holes_do_not(void **state)
{
    (void)state;
    OWNED_FD int fd = open("reserved", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fallocate(fd, 0, 0, FILE_BYTES) < 0)
        skip_because("this file system reserves no space");
    OWNED_FD int hole = open("hole", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(hole, (off_t)GIBIBYTE), 0);
    struct disk_usage usage = usage_below(&unbounded, 0);
    assert_bytes(&usage, FILE_BYTES);
}

static void count_stops_beyond_what_is_allowed(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%d", i);
        write_file(name);
    }
    const struct disk_usage bytes = {FILE_BYTES, UINT64_MAX};
    struct disk_usage usage = usage_below(&bytes, 0);
    assert_true(disk_usage_exceeds(&usage, &bytes) && usage.files < 20);
    const struct disk_usage files = {UINT64_MAX, 5};
    usage = usage_below(&files, 0);
    assert_int_equal(usage.files, 6);
    assert_true(disk_usage_exceeds(&usage, &files));
    usage.files = 5;
    assert_false(disk_usage_exceeds(&usage, &files));
}

static void levels_are_bounded(void **state)
{
    (void)state;
    OWNED_FD int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < UPPER_DEPTH_MAX; i++) {
        assert_true(mkdirat(fd, "d", 0700) == 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd_close(&fd);
        fd = next;
        if (i == UPPER_DEPTH_MAX - 2)
            assert_int_equal(usage_below(&unbounded, 0).files, UPPER_DEPTH_MAX - 1);
    }
    usage_below(&unbounded, -ELOOP);
}

static void what_is_no_process_has_no_files(void **state)
{
    (void)state;
    OWNED_FD int fds = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct disk_usage usage = {0};
    struct proc_usage jail = PROC_USAGE_NONE;
    jail.proc_fd = fds;
    assert_int_equal(disk_usage_add_removed(&jail, 0, &unbounded, &usage), 0);
    assert_int_equal(usage.files, 0);
    assert_true(disk_usage_add_removed(&PROC_USAGE_NONE, 0, &unbounded, &usage) < 0);
}

/* What disk_usage_add_removed() says of one process, which is linked to from a directory. */
static int add_process(pid_t process)
{
    char target[32];
    snprintf(target, sizeof(target), "/proc/%d", process);
    assert_int_equal(symlink(target, "2"), 0);
    OWNED_FD int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct disk_usage usage = {0};
    struct proc_usage jail = PROC_USAGE_NONE;
    jail.proc_fd = fd;
    return disk_usage_add_removed(&jail, 0, &unbounded, &usage);
}

/* Its directories belong to root until somebody has waited for it. */
static void process_that_has_ended_has_no_files(void **state)
{
    (void)state;
    siginfo_t info;
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(add_process(ended), 0);
    waitpid(ended, NULL, 0);
}

static void process_that_hides_its_files_is_an_error(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t hidden = fork();
    if (hidden == 0) {
        prctl(PR_SET_DUMPABLE, 0UL);
        _exit(write(ready[1], "", 1) == 1 ? pause() : 1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int r = add_process(hidden);
    kill(hidden, SIGKILL);
    waitpid(hidden, NULL, 0);
    /* Root of a container may not look at it. */
    bool sees_all = geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE) == 1;
    assert_int_equal(r, sees_all ? 0 : -EACCES);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, directory_make, directory_remove)
    const struct CMUnitTest tests[] = {
        TEST(files_count_once_whatever_their_names),
        TEST(reserved_space_counts_and_holes_do_not),
        TEST(count_stops_beyond_what_is_allowed),
        TEST(levels_are_bounded),
        TEST(what_is_no_process_has_no_files),
        TEST(process_that_has_ended_has_no_files),
        TEST(process_that_hides_its_files_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
