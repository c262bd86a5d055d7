#include "sandbox/base/process_walk.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process with a child of its own, both waiting for a signal. */
static pid_t start_pair(pid_t *ret_child)
{
    int pair[2];
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t child = fork();
        if (child > 0 && write(pair[1], &child, sizeof(child)) != sizeof(child))
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(pair[0], ret_child, sizeof(*ret_child)), sizeof(*ret_child));
    close(pair[0]);
    close(pair[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static size_t count_of(pid_t root, pid_t wanted, size_t *ret_position)
{
    OWNED_FD int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWNED(process_walk_release) struct process_walk walk = process_walk_open(proc_fd, root);
    size_t count = 0;
    for (const char *name; (name = process_walk_next(&walk)) != NULL; count++)
        if (atoi(name) == wanted)
            *ret_position = count;
    return count;
}

static void tree_has_the_root_first_and_all_below(void **state)
{
    (void)state;
    pid_t child;
    pid_t pid = start_pair(&child);
    size_t position = 9;
    assert_int_equal(count_of(pid, pid, &position), 2);
    assert_int_equal(position, 0);
    assert_int_equal(count_of(pid, child, &position), 2);
    assert_int_equal(position, 1);
    kill(child, SIGKILL);
    end(pid);
}

static void whole_has_processes_of_others(void **state)
{
    (void)state;
    size_t position = SIZE_MAX;
    assert_true(count_of(0, getpid(), &position) > 0);
    assert_true(position != SIZE_MAX);
}

static void ended_root_is_alone(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    size_t position = 9;
    assert_int_equal(count_of(pid, pid, &position), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_has_the_root_first_and_all_below),
        cmocka_unit_test(whole_has_processes_of_others),
        cmocka_unit_test(ended_root_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
