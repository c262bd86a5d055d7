#include "tests/unit/session-running.h"
#include "tests/unit/weakest-tier.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/engine.h"
#include "sandbox/jail/folders/folder.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session.h"
#include "sandbox/session_state.h"
#include "tests/bench/bench-rootfs.h"
#include "tests/unit/needs-jails.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static void what_is_written_to_stdin_comes_back(void **state)
{
    (void)state;
    static const char *const argv[] = {BENCH_PROGRAM, "copy", NULL};
    const struct command_spec whole = {
        .argv = argv, .stdin_bytes = "given\n", .stdin_length = 6, .wall_ms = 10000};
    struct command_spec open = whole;
    open.keeps_stdin_open = true;
    struct fault fault = {0};
    open_session(SESSION_LIVE);
    assert_int_equal(start(&world.seen[0], &whole, &fault), 0);
    assert_int_equal(start(&world.seen[1], &open, &fault), 0);
    assert_int_equal(command_write_stdin(world.seen[1].command, "early\n", 6, false), 0);
    AWAIT(world.seen[0].is_done);
    assert_false(world.seen[1].is_done);
    assert_int_equal(command_write_stdin(world.seen[1].command, "late\n", 5, true), 0);
    assert_int_equal(command_write_stdin(world.seen[1].command, "x", 1, false), -EPIPE);
    await_all();
    assert_exited(&world.seen[0], 0);
    assert_exited(&world.seen[1], 0);
    assert_string_equal(world.seen[0].out, "given\n");
    assert_string_equal(world.seen[1].out, "given\nearly\nlate\n");
}

static void a_command_may_leave_its_stdin_unread(void **state)
{
    (void)state;
    static char bytes[COMMAND_STDIN_MAX];
    static const char *const argv[] = {BENCH_PROGRAM, "exit", "4", NULL};
    const struct command_spec spec = {
        .argv = argv, .stdin_bytes = bytes, .stdin_length = sizeof(bytes), .wall_ms = 10000};
    struct fault fault = {0};
    open_session(SESSION_FRESH);
    assert_int_equal(start(&world.seen[0], &spec, &fault), 0);
    assert_int_equal(command_write_stdin(world.seen[0].command, "x", 1, false), -EPIPE);
    await_all();
    assert_exited(&world.seen[0], 4);
}

static void so_many_run_at_once_and_no_more(void **state)
{
    (void)state;
    static const char *const argv[] = {BENCH_PROGRAM, "print", "x", NULL};
    const struct command_spec one_more = {.argv = argv, .wall_ms = 10000};
    struct fault fault = {0};
    open_session(SESSION_LIVE);
    for (size_t i = 0; i < COMMANDS_MAX; i++)
        exec(i, "wait", "500", 10000);
    assert_int_equal(start(&world.seen[COMMANDS_MAX], &one_more, &fault), -EAGAIN);
    assert_string_equal(fault.id, "limit");
    await_all();
    for (size_t i = 0; i < COMMANDS_MAX; i++)
        assert_exited(&world.seen[i], 0);
    assert_int_equal(start(&world.seen[COMMANDS_MAX], &one_more, &fault), 0);
    await_all();
    assert_string_equal(world.seen[COMMANDS_MAX].out, "x\n");
}

/* Commands end before, within and after cells. */
static void run_beside_cells(enum session_kind kind)
{
    open_session(kind);
    struct seen *long_one = exec(0, "wait", "1200", 10000);
    struct seen *short_one = exec(1, "wait", "100", 10000);
    struct seen *first = submit(2, "print one");
    struct seen *second = submit(3, "wait 300");
    struct seen *third = submit(4, "print three");
    await_all();
    assert_exited(long_one, 0);
    assert_exited(short_one, 0);
    assert_exited(first, 0);
    assert_exited(second, 0);
    assert_exited(third, 0);
    assert_string_equal(first->out, "one\n");
    assert_string_equal(third->out, "three\n");
    assert_true(third->answered_at < long_one->answered_at);
}

static void commands_run_beside_cells(void **state)
{
    run_beside_cells(SESSION_LIVE);
    forget(state);
    run_beside_cells(SESSION_FRESH);
}

/* A command that begins while the program of a cell ends, again and again. */
static void commands_begin_at_the_end_of_cells(void **state)
{
    (void)state;
    open_session(SESSION_FRESH);
    for (int i = 0; i < 30; i++) {
        memset(world.seen, 0, sizeof(world.seen));
        struct seen *cell = submit(0, "print cell");
        turn(1 + i % 10);
        struct seen *command = exec(1, "print", "command", 10000);
        await_all();
        assert_exited(cell, 0);
        assert_exited(command, 0);
        assert_string_equal(cell->out, "cell\n");
        assert_string_equal(command->out, "command\n");
    }
}

static void a_command_past_its_time_is_interrupted_then_killed(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *seen = exec(0, "stubborn", NULL, 100);
    struct seen *parent = exec(1, "parent", NULL, 100);
    struct seen *heeding = exec(2, "wait", "30000", 100);
    await_all();
    assert_int_equal(heeding->result.outcome, OUTCOME_TIMED_OUT);
    assert_true(heeding->result.duration_ns < INTERRUPT_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(seen->result.outcome, OUTCOME_TIMED_OUT);
    assert_string_equal(seen->out, "ready\n");
    assert_true(seen->result.duration_ns >= INTERRUPT_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(parent->result.outcome, OUTCOME_TIMED_OUT);
    assert_true(parent->result.duration_ns < INTERRUPT_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    memset(world.seen, 0, sizeof(world.seen));
    submit(0, "print alive");
    await_all();
    assert_exited(&world.seen[0], 0);
}

static void too_much_output_ends_a_command(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *seen = exec(0, "flood", "100000000", 10000);
    struct seen *other = exec(1, "flood", "4000000", 10000);
    await_all();
    assert_int_equal(seen->result.outcome, OUTCOME_OUTPUT_LIMIT);
    assert_true(seen->result.out.total > 8 * MEBIBYTE);
    assert_true(seen->result.out.total < 9 * MEBIBYTE);
    assert_exited(other, 0);
    assert_true(other->told >= 4000000);
}

static void much_output_takes_little_memory(void **state)
{
    (void)state;
    struct rusage before, after;
    open_session(SESSION_LIVE);
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < COMMANDS_MAX; i++)
        exec(i, "flood", "8000000", 20000);
    await_all();
    getrusage(RUSAGE_SELF, &after);
    for (size_t i = 0; i < COMMANDS_MAX; i++)
        assert_true(world.seen[i].told >= 8000000);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, COMMANDS_MAX * 4096);
}

static void a_reader_holds_its_own_command_alone(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *held = &world.seen[0];
    held->room = 1;
    exec(0, "flood", "4000000", 10000);
    struct seen *other = exec(1, "flood", "4000000", 10000);
    AWAIT(other->is_done);
    assert_exited(other, 0);
    assert_false(held->is_done);
    assert_true(held->told < 100000);
    held->room = 0;
    command_go_on(held->command);
    await_all();
    assert_exited(held, 0);
    assert_true(held->told >= 4000000);
}

static void signals_reach_a_command(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *seen = exec(0, "stay", NULL, 30000);
    assert_int_equal(command_signal(seen->command, SIGTERM), -ESRCH);
    AWAIT(seen->told > 0);
    assert_int_equal(command_signal(seen->command, SIGTERM), 0);
    struct seen *own = exec(1, "raise", "11", 10000);
    struct seen *stopped = exec(2, "wait", "30000", 30000);
    command_stop(stopped->command);
    struct seen *closing = exec(3, "close", NULL, 10000);
    await_all();
    assert_exited(closing, 3); /* though its pipes ended before it */
    assert_true(closing->result.duration_ns >= 100 * NANOSECONDS_PER_MILLISECOND);
    assert_int_equal(seen->result.outcome, OUTCOME_SIGNALED);
    assert_int_equal(seen->result.signal, SIGTERM);
    assert_int_equal(own->result.outcome, OUTCOME_SIGNALED);
    assert_int_equal(own->result.signal, SIGSEGV);
    assert_int_equal(stopped->result.outcome, OUTCOME_CANCELLED);
}

static void a_cancelled_command_is_not_told(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *waiting = exec(0, "wait", "30000", 30000);
    command_cancel(waiting->command);
    struct seen *stopped = exec(3, "print", "x", 10000);
    command_stop(stopped->command);
    struct seen *seen = exec(1, "stay", NULL, 30000);
    AWAIT(seen->told > 0);
    command_cancel(seen->command);
    stage.awaited -= 2;
    struct seen *last = exec(2, "print", "last", 10000);
    await_all();
    assert_exited(last, 0);
    assert_int_equal(stopped->result.outcome, OUTCOME_CANCELLED);
    assert_int_equal(stopped->result.duration_ns, 0);
    assert_false(waiting->is_done);
    assert_false(seen->is_done);
}

static void what_is_missing_is_told(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"nothing", NULL}, {"/nothing", NULL}, {BENCH_PROGRAM, "/nothing"}, {"program", NULL}};
    open_session(SESSION_LIVE);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *const argv[] = {cases[i][0], NULL};
        const struct command_spec spec = {.argv = argv, .directory = cases[i][1], .wall_ms = 10000};
        struct fault fault = {0};
        assert_int_equal(start(&world.seen[i], &spec, &fault), 0);
        await_all();
        assert_int_equal(world.seen[i].status, -ENOENT);
        assert_string_equal(world.seen[i].fault_id, "no_such_file");
    }
    assert_non_null(strstr(world.seen[2].fault, "directory /nothing"));
    exec(5, "print", "alive", 10000);
    await_all();
    assert_exited(&world.seen[5], 0);
}

static void directory_and_variables_are_its_own(void **state)
{
    (void)state;
    static const char *const environment[] = {"VALUE=first", "PATH=/nothing:/", "VALUE=own", NULL};
    static const char *const argv[] = {"program", "where", NULL};
    const struct command_spec spec = {
        .argv = argv, .directory = "/tmp", .environment = environment, .wall_ms = 10000};
    struct fault fault = {0};
    open_session(SESSION_LIVE);
    assert_int_equal(start(&world.seen[0], &spec, &fault), 0);
    exec(1, "where", NULL, 10000);
    await_all();
    assert_exited(&world.seen[0], 0);
    assert_string_equal(world.seen[0].out, "/tmp own /home/sandbox 1\n");
    assert_string_equal(world.seen[1].out, "/work of the session /home/sandbox 1\n");
}

static void arguments_are_bounded(void **state)
{
    (void)state;
    static char large[COMMAND_TEXT_MAX + 1];
    const char *const argv[] = {BENCH_PROGRAM, large, NULL};
    const struct command_spec spec = {.argv = argv, .wall_ms = 10000};
    struct fault fault = {0};
    memset(large, 'x', sizeof(large) - 1);
    open_session(SESSION_LIVE);
    assert_int_equal(start(&world.seen[0], &spec, &fault), -E2BIG);
    large[200000] = '\0'; /* more than the kernel takes: execve(2) */
    assert_int_equal(start(&world.seen[0], &spec, &fault), 0);
    await_all();
    assert_int_equal(world.seen[0].status, -E2BIG);
    assert_string_equal(world.seen[0].fault_id, "too_large");
}

static int64_t size_of_ticks(void)
{
    memset(world.seen, 0, sizeof(world.seen));
    exec(0, "size", "ticks", 10000);
    await_all();
    return strtoll(world.seen[0].out, NULL, 10);
}

static void a_daemon_goes_on_only_while_something_runs(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *seen = exec(0, "daemon", "ticks", 10000);
    exec(1, "wait", "200", 10000);
    await_all();
    assert_exited(seen, 0);
    assert_true(seen->answered_at < world.seen[1].answered_at);
    int64_t before = size_of_ticks();
    turn(700);
    assert_true(size_of_ticks() - before < 100);
    AWAIT(size_of_ticks() - before > 160); /* each look lets it go on for a while */
}

static void what_a_program_anew_leaves_ends_with_it(void **state)
{
    (void)state;
    open_session(SESSION_FRESH);
    struct seen *beside = exec(1, "stay", NULL, 30000);
    submit(0, "behind ticks");
    AWAIT(world.seen[0].is_done);
    turn(700);
    assert_false(beside->is_done);
    assert_int_equal(command_signal(beside->command, SIGKILL), 0);
    await_all();
    assert_true(size_of_ticks() < 60);
}

/* With what cells leave, and while they are looked at. */
static void processes_may_go_on(enum session_kind kind)
{
    open_as(kind, true);
    exec(0, "daemon", "ticks", 10000);
    await_all();
    submit(1, "print x");
    look(2);
    await_all();
    assert_exited(&world.seen[1], 0);
    assert_exited(&world.seen[2], 0);
    int64_t before = size_of_ticks();
    turn(300);
    AWAIT(size_of_ticks() - before > 60);
    session_end(world.session);
    world.session = NULL;
}

static void in_some_sessions_all_goes_on(void **state)
{
    (void)state;
    processes_may_go_on(SESSION_LIVE);
    memset(world.seen, 0, sizeof(world.seen));
    processes_may_go_on(SESSION_FRESH);
}

static struct folder copied; /* borrowed until its processes are gone */
static const struct folders copies = {&copied, 1};

static int forget_folder(void **state)
{
    char *path = copied.path;
    forget(state);
    turn(300);
    world.folders = NULL;
    fd_close(&copied.fd);
    int r = tree_remove(AT_FDCWD, path);
    free(path);
    return r;
}

/* A cell has stopped all until its folders have been read. */
static void the_end_of_a_command_meanwhile_lets_all_go_on(void **state)
{
    (void)state;
    static char place[] = "/srv/over";
    char path[] = "/tmp/test-command-XXXXXX";
    assert_non_null(mkdtemp(path));
    copied = (struct folder){.fd = -1, .place = place, .mode = FOLDER_OVERLAY};
    assert_int_equal(folder_open(path, &copied, NULL), 0);
    world.folders = &copies;
    open_as(SESSION_LIVE, true);
    exec(0, "daemon", "ticks", 10000);
    await_all();
    struct seen *beside = exec(1, "stay", NULL, 30000);
    AWAIT(beside->told > 0);
    struct seen *cell = submit(2, "print x");
    AWAIT(cell->is_done);
    assert_int_equal(command_signal(beside->command, SIGKILL), 0);
    await_all();
    session_folders_read(world.session);
    int64_t before = size_of_ticks();
    turn(300);
    AWAIT(size_of_ticks() - before > 60);
}

static void processor_time_is_its_own(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *busy = exec(0, "spin", NULL, 10000);
    struct seen *idle = exec(1, "wait", "300", 10000);
    await_all();
    assert_true(busy->result.cpu_ns >= 190 * NANOSECONDS_PER_MILLISECOND);
    assert_true(idle->result.cpu_ns < 100 * NANOSECONDS_PER_MILLISECOND);
}

static void the_end_of_a_session_is_told(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    exec(0, "stay", NULL, 30000);
    exec(1, "stubborn", NULL, 30000);
    AWAIT(world.seen[0].told > 0 && world.seen[1].told > 0);
    struct seen *cell = submit(2, "exit 7");
    await_all();
    assert_null(world.session);
    assert_exited(cell, 7);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world.seen[i].status, 0);
        assert_true(world.seen[i].result.is_session_lost);
        assert_int_equal(world.seen[i].result.outcome, OUTCOME_SIGNALED);
        assert_int_equal(world.seen[i].result.signal, SIGKILL);
    }
    assert_string_equal(world.seen[1].out, "ready\n");
}

static void a_stopped_session_tells_all(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    exec(0, "stay", NULL, 30000);
    submit(3, "print ready");
    AWAIT(world.seen[0].told > 0 && world.seen[3].is_done);
    submit(1, "wait 30000");
    submit(2, "print x");
    session_stop(world.session);
    await_all();
    assert_null(world.session);
    assert_true(world.seen[0].result.is_session_lost);
    assert_int_equal(world.seen[0].result.outcome, OUTCOME_CANCELLED);
    assert_int_equal(world.seen[1].result.outcome, OUTCOME_CANCELLED);
    assert_int_equal(world.seen[2].status, -ESRCH);
    memset(world.seen, 0, sizeof(world.seen));
    open_session(SESSION_LIVE);
    session_stop(world.session);
    assert_null(world.session);
}

static void whenever_init_dies_all_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        memset(world.seen, 0, sizeof(world.seen));
        open_session(i % 2 == 0 ? SESSION_LIVE : SESSION_FRESH);
        exec(0, "wait", "30000", 30000);
        exec(1, "stubborn", NULL, 30000);
        submit(2, "wait 30000");
        turn(1 + i);
        const struct sandbox *sandbox = &world.session->run->attempt.limited.sandbox;
        assert_int_equal(kill(sandbox->pid, SIGKILL), 0);
        await_all();
        assert_null(world.session);
        for (size_t j = 0; j < 2; j++)
            assert_true(world.seen[j].status < 0 || world.seen[j].result.is_session_lost);
    }
}

static void an_ended_session_tells_nobody(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    struct seen *seen = exec(0, "stay", NULL, 30000);
    AWAIT(seen->told > 0);
    session_end(world.session);
    world.session = NULL;
    stage.awaited = 0;
    turn(300);
    assert_false(seen->is_done);
}

/* Such a command may cost its session, but nothing hangs, and all is told. */
static void a_command_that_stops_all_harms_its_session_alone(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    exec(0, "stop", NULL, 3000);
    for (size_t i = 1; i < 8; i++)
        exec(i, "print", "x", 3000);
    await_all();
}

/* Without namespaces, the program of an image is not where it is elsewhere; those of the host are in PATH. */
static void run_in_tier(enum tier tier)
{
    static const char *const argv[] = {"sh", "-c",
                                       "trap '' INT; echo up; while :; do sleep 1; done", NULL};
    const struct command_spec stubborn = {.argv = argv, .wall_ms = 300};
    struct fault fault = {0};
    open_session(SESSION_FRESH);
    struct seen *cell = submit(0, "wait 300");
    bool has_shell = tier == TIER_L;
    if (has_shell && start(&world.seen[1], &stubborn, &fault) < 0)
        fail_msg("%s", fault.text);
    if (!has_shell)
        exec(1, "stubborn", NULL, 300);
    await_all();
    assert_exited(cell, 0);
    if (world.seen[1].status < 0)
        fail_msg("%s", world.seen[1].fault);
    assert_int_equal(world.seen[1].result.outcome, OUTCOME_TIMED_OUT);
    assert_string_equal(world.seen[1].out, has_shell ? "up\n" : "ready\n");
    forget(NULL);
}

static void commands_run_without_some_walls(void **state)
{
    (void)state;
    const enum tier tiers[] = {TIER_P, weakest_tier()};
    struct engine *strong = stage.engine;
    char roots[] = "/tmp/code-sandbox-roots-XXXXXX";
    assert_non_null(mkdtemp(roots));
    for (size_t i = 0; i < ARRAY_LENGTH(tiers); i++) {
        const struct engine_options options = {
            .parallel = 2, .cgroup = CGROUP_NEVER, .tier = tiers[i], .roots = roots};
        struct fault fault = {0};
        int r = engine_new(&stage.loop, &options, &stage.engine, &fault);
        if (r < 0) {
            stage.engine = strong;
            fail_msg("%s", fault.text);
        }
        run_in_tier(tiers[i]);
        engine_free(stage.engine);
        stage.engine = strong;
    }
    assert_int_equal(tree_remove(AT_FDCWD, roots), 0);
}

int main(void)
{
    if (!has_jails())
        return 0;
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_to_stdin_comes_back),
        TEST(a_command_may_leave_its_stdin_unread),
        TEST(so_many_run_at_once_and_no_more),
        TEST(commands_run_beside_cells),
        TEST(commands_begin_at_the_end_of_cells),
        TEST(a_command_past_its_time_is_interrupted_then_killed),
        TEST(too_much_output_ends_a_command),
        TEST(much_output_takes_little_memory),
        TEST(a_reader_holds_its_own_command_alone),
        TEST(signals_reach_a_command),
        TEST(a_cancelled_command_is_not_told),
        TEST(what_is_missing_is_told),
        TEST(directory_and_variables_are_its_own),
        TEST(arguments_are_bounded),
        TEST(a_daemon_goes_on_only_while_something_runs),
        TEST(what_a_program_anew_leaves_ends_with_it),
        TEST(in_some_sessions_all_goes_on),
        cmocka_unit_test_teardown(the_end_of_a_command_meanwhile_lets_all_go_on, forget_folder),
        TEST(processor_time_is_its_own),
        TEST(the_end_of_a_session_is_told),
        TEST(a_stopped_session_tells_all),
        TEST(whenever_init_dies_all_is_told),
        TEST(an_ended_session_tells_nobody),
        TEST(a_command_that_stops_all_harms_its_session_alone),
        TEST(commands_run_without_some_walls),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
