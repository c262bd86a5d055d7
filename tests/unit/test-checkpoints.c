#include "sandbox/jail/child/checkpoints.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* This process takes the part of init. */
static struct jail_plan plan;
static struct jail jail;
static int reports[2];

static int setup(void **state)
{
    (void)state;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, reports) < 0)
        return -1;
    memset(&plan, 0, sizeof(plan));
    plan.control_fd = reports[0];
    memset(&jail, 0, sizeof(jail));
    jail.plan = &plan;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(reports[0]);
    close(reports[1]);
    return 0;
}

static pid_t child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

/* Whether it was killed; it is reaped. */
static bool ends(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_true(ends(pid));
}

static bool is_there(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == 0;
}

static void take(pid_t pid, uint32_t number, uint32_t kept, uint32_t revived)
{
    const struct parent_message message = {
        .command = pid, .number = number, .file_count = kept, .revived = revived};
    checkpoints_take(&jail, &message);
}

static size_t count(void)
{
    size_t number = 0;
    for (size_t i = 0; i < JAIL_CHECKPOINTS_MAX; i++)
        number += jail.lanes[0].checkpoints[i].pid != 0;
    return number;
}

static void only_children_that_nothing_else_knows_are_taken(void **state)
{
    (void)state;
    const pid_t program = child();
    const pid_t other = child();
    jail.lanes[0].program = program;
    jail.lanes[1].program = other;
    const pid_t no_copies[] = {0, 1, -1, -program, getpid(), getppid(), program, other};
    for (size_t i = 0; i < sizeof(no_copies) / sizeof(no_copies[0]); i++) {
        take(no_copies[i], 1, 8, 0);
        assert_int_equal(count(), 0);
    }
    assert_true(is_there(program) && is_there(other));
    const pid_t copy = child();
    take(copy, 1, 8, 0);
    assert_int_equal(count(), 1);
    take(copy, 2, 8, 0);
    assert_int_equal(count(), 1);
    checkpoints_note_end(&jail, copy);
    assert_false(checkpoints_are_there(&jail.lanes[0]));
    const pid_t dead = child();
    kill(dead, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)dead, &info, WEXITED | WNOWAIT), 0);
    take(dead, 3, 8, 0);
    assert_int_equal(count(), 0);
    assert_true(ends(dead));
    end(copy);
    end(program);
    end(other);
}

static void one_of_an_interpreter_that_has_ended_is_killed(void **state)
{
    (void)state;
    const pid_t copy = child();
    jail.lanes[0].revived = 1;
    take(copy, 1, 8, 0);
    assert_int_equal(count(), 0);
    assert_true(ends(copy));
}

static void the_oldest_end(void **state)
{
    (void)state;
    pid_t copies[4];
    for (uint32_t i = 0; i < 4; i++) {
        copies[i] = child();
        take(copies[i], 10 - i, 3, 0); /* the last is the oldest */
    }
    assert_int_equal(count(), 4);
    checkpoints_end_oldest(&jail);
    assert_int_equal(count(), 3);
    assert_true(ends(copies[3]));
    const struct parent_message back = {.number = 9};
    checkpoints_drop_later(&jail, &back);
    assert_true(ends(copies[0]));
    checkpoints_keep(&jail.lanes[0], 1);
    assert_true(ends(copies[2]));
    assert_true(is_there(copies[1]) && count() == 1);
    checkpoints_keep(&jail.lanes[0], 0);
    assert_true(ends(copies[1]));
}

static void there_is_room_for_one_more_than_all(void **state)
{
    (void)state;
    pid_t copies[JAIL_CHECKPOINTS_MAX + 1];
    for (uint32_t i = 0; i <= JAIL_CHECKPOINTS_MAX; i++) {
        copies[i] = child();
        take(copies[i], i + 1, JAIL_CHECKPOINTS_MAX, 0);
    }
    assert_true(ends(copies[0]));
    assert_int_equal(count(), JAIL_CHECKPOINTS_MAX);
    checkpoints_keep(&jail.lanes[0], 0);
    for (size_t i = 1; i <= JAIL_CHECKPOINTS_MAX; i++)
        assert_true(ends(copies[i]));
}

static void the_newest_that_lives_takes_the_place(void **state)
{
    (void)state;
    const pid_t old = child();
    const pid_t copy = child();
    const pid_t dead = child();
    take(old, 1, 8, 0);
    take(copy, 2, 8, 0);
    take(dead, 3, 8, 0);
    end(dead);
    kill(copy, SIGSTOP);
    assert_int_equal(waitpid(copy, NULL, WUNTRACED), copy);
    jail.is_paused = true;
    assert_true(checkpoints_revive(&jail, 0, 9));
    assert_int_equal(jail.lanes[0].program, copy);
    assert_int_equal(jail.lanes[0].revived, 1);
    struct child_report report = {0};
    assert_int_equal(recv(reports[1], &report, sizeof(report), 0), sizeof(report));
    assert_int_equal(report.kind, REPORT_REVIVED);
    assert_int_equal(report.number, 2);
    assert_int_equal(report.status, 9);
    assert_int_equal(waitpid(copy, NULL, WNOHANG | WCONTINUED), 0); /* it stays stopped */
    end(copy);
    jail.is_paused = false;
    assert_true(checkpoints_revive(&jail, 0, 9));
    assert_int_equal(jail.lanes[0].program, old);
    assert_false(checkpoints_revive(&jail, 0, 9));
    end(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_children_that_nothing_else_knows_are_taken, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_of_an_interpreter_that_has_ended_is_killed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_oldest_end, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_room_for_one_more_than_all, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_that_lives_takes_the_place, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
