#include "sandbox/session_lane.h"

#include "sandbox/base/owned.h"
#include "sandbox/engine.h"
#include "sandbox/limits/limits.h"
#include "sandbox/session.h"
#include "tests/bench/bench-rootfs.h"
#include "tests/unit/needs-jails.h"
#include "tests/unit/session-stage.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_SIZE 4096

struct seen {
    struct cell *cell;
    bool is_done;
    int status;
    enum run_outcome outcome;
    int exit_code;
    enum session_state session;
    char out[TEXT_SIZE];
    char fault[FAULT_TEXT_MAX];
};

static struct world {
    struct session *session; /* NULL: it has ended */
    int ended_lane;
    struct seen seen;
} world;

static const char *const live[] = {BENCH_PROGRAM, "serve", NULL};
static const char *const fresh[] = {BENCH_PROGRAM, "file", "main", NULL};

static void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct seen *seen = data;
    seen->is_done = true;
    seen->status = status;
    if (status == 0) {
        const struct buffer *out = &result->out.head;
        size_t length = out->length < TEXT_SIZE ? out->length : TEXT_SIZE - 1;
        seen->outcome = result->outcome;
        seen->exit_code = result->exit_code;
        seen->session = result->session;
        if (length > 0)
            memcpy(seen->out, out->data, length);
    } else {
        snprintf(seen->fault, sizeof(seen->fault), "%s", fault->text);
    }
    loop_stop(&stage.loop);
}

static void session_ended(void *data, int status, const struct run_result *result,
                          const struct fault *fault)
{
    (void)data;
    (void)fault;
    world.session = NULL;
    world.ended_lane = status == 0 ? result->ended_lane : -2;
}

static struct session_spec spec_of(enum session_kind kind, const char *const *environment)
{
    struct session_spec spec = {
        .run = {.image = "test",
                .rootfs = stage.rootfs,
                .argv = kind == SESSION_LIVE ? live : fresh,
                .environment = environment,
                .code_name = "main",
                .code = "",
                .session = kind,
                .limits = run_limits_default()},
    };
    spec.run.limits.output_total = 1 * MEBIBYTE;
    return spec;
}

static void open_session(enum session_kind kind)
{
    static const char *const environment[] = {"VALUE=first", NULL};
    const struct session_spec spec = spec_of(kind, environment);
    const struct session_observer observer = {.ended = session_ended};
    struct fault fault = {0};
    world.ended_lane = -3;
    if (engine_open_session(stage.engine, &spec, &observer, &world.session, &fault) < 0)
        fail_msg("%s", fault.text);
}

static unsigned add_lane(enum session_kind kind, const char *program)
{
    static const char *const environment[] = {"VALUE=second", NULL};
    static const struct home_file file = {.path = ".own/file", .bytes = "of home", .length = 7};
    const char *const odd[] = {program, "serve", NULL};
    struct session_spec spec = spec_of(kind, environment);
    unsigned lane = 0;
    struct fault fault = {0};
    spec.run.joins_session = true;
    spec.run.home_files = &file;
    spec.run.home_file_count = 1;
    if (program != NULL)
        spec.run.argv = odd;
    if (engine_add_lane(world.session, &spec, &lane, &fault) < 0)
        fail_msg("%s", fault.text);
    assert_int_not_equal(lane, 0);
    return lane;
}

static struct seen *begin(unsigned lane, const char *code, int64_t wall_ms)
{
    struct seen *seen = &world.seen;
    const struct cell_spec spec = {
        .lane = lane,
        .code = code,
        .code_length = strlen(code),
        .wall_ms = wall_ms,
        .stdin_source = {.kind = STDIN_BYTES, .bytes = code, .length = strlen(code)},
    };
    const struct run_observer observer = {.done = cell_done, .data = seen};
    struct fault fault = {0};
    *seen = (struct seen){0};
    if (session_submit(world.session, &spec, &observer, &seen->cell, &fault) < 0)
        fail_msg("%s", fault.text);
    return seen;
}

static struct seen *run(unsigned lane, const char *code, int64_t wall_ms)
{
    struct seen *seen = begin(lane, code, wall_ms);
    turn(PATIENCE_MS);
    assert_true(seen->is_done);
    return seen;
}

static const char *out_of(unsigned lane, const char *code)
{
    const struct seen *seen = run(lane, code, 10000);
    if (seen->status < 0)
        fail_msg("%s", seen->fault);
    assert_int_equal(seen->session, SESSION_KEPT);
    return seen->out;
}

static int forget(void **state)
{
    (void)state;
    if (world.session != NULL)
        session_end(world.session);
    world.session = NULL;
    return 0;
}

/* Whatever the first lane and the further one are. */
static void all_lanes_have_the_same_files(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        open_session(i < 2 ? SESSION_LIVE : SESSION_FRESH);
        unsigned further = add_lane(i % 2 == 0 ? SESSION_FRESH : SESSION_LIVE, NULL);
        out_of(0, "put one 1");
        assert_string_equal(out_of(further, "size one"), "1\n");
        out_of(further, "put two 22");
        assert_string_equal(out_of(0, "size two"), "2\n");
        assert_string_equal(out_of(further, "size /home/sandbox/.own/file"), "7\n");
        assert_string_equal(out_of(further, "size main"), "0\n");
        session_end(world.session);
    }
    world.session = NULL;
}

static void each_lane_has_its_own_variables(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    unsigned one = add_lane(SESSION_FRESH, NULL), other = add_lane(SESSION_LIVE, NULL);
    assert_string_equal(out_of(0, "where"), "/work first /home/sandbox 1\n");
    assert_string_equal(out_of(one, "where"), "/work second /home/sandbox 1\n");
    assert_string_equal(out_of(other, "where"), "/work second /home/sandbox 1\n");
}

static void stdin_is_that_of_the_cell(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    unsigned lanes[] = {0, add_lane(SESSION_FRESH, NULL), add_lane(SESSION_LIVE, NULL)};
    for (int i = 0; i < 6; i++)
        assert_string_equal(out_of(lanes[i % 3], "copy"), "copy");
}

static void a_program_anew_ends_without_the_live_ones(void **state)
{
    (void)state;
    open_session(SESSION_FRESH);
    unsigned further = add_lane(SESSION_LIVE, NULL);
    out_of(further, "put ticks .");
    out_of(0, "behind ticks");
    char before[TEXT_SIZE];
    snprintf(before, sizeof(before), "%s", out_of(further, "size ticks"));
    out_of(further, "wait 100");
    assert_string_equal(out_of(further, "size ticks"), before);
}

static void what_one_leaves_goes_on_while_another_runs(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    unsigned further = add_lane(SESSION_FRESH, NULL);
    out_of(0, "daemon ticks");
    int before = atoi(out_of(further, "size ticks"));
    out_of(further, "wait 300");
    int after = atoi(out_of(further, "size ticks"));
    assert_in_range(after - before, 10, 1000);
    turn(300);
    assert_in_range(atoi(out_of(0, "size ticks")) - after, 0, 40);
}

static void interrupts_and_limits_reach_the_lane_of_the_cell(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    unsigned lanes[] = {add_lane(SESSION_FRESH, NULL), 0, add_lane(SESSION_LIVE, NULL)};
    for (size_t i = 0; i < 3; i++) {
        const struct seen *seen = run(lanes[i], "nap 30", 200);
        assert_int_equal(seen->outcome, OUTCOME_TIMED_OUT);
        assert_int_equal(seen->session, SESSION_KEPT);
        assert_string_equal(out_of(lanes[(i + 1) % 3], "print on"), "on\n");
    }
    assert_int_equal(run(lanes[0], "flood 4000000", 10000)->outcome, OUTCOME_OUTPUT_LIMIT);
    assert_string_equal(out_of(lanes[2], "print on"), "on\n");
    assert_int_equal(run(lanes[0], "stubborn", 200)->outcome, OUTCOME_TIMED_OUT);
    assert_string_equal(out_of(lanes[1], "print on"), "on\n");
}

static void the_end_of_a_live_program_is_that_of_the_session(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 2; which++) {
        open_session(SESSION_LIVE);
        unsigned lanes[] = {0, add_lane(SESSION_LIVE, NULL)};
        out_of(lanes[1], "print on");
        const struct seen *seen = run(lanes[which], "exit 7", 10000);
        assert_int_equal(seen->session, SESSION_LOST);
        assert_int_equal(seen->exit_code, 7);
        assert_null(world.session);
        assert_int_equal(world.ended_lane, (int)lanes[which]);
    }
}

/* Its first bytes are of no program. */
static void make_odd_program(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/odd", stage.rootfs);
    OWNED_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "odd", 3), 3);
}

static void a_program_that_does_not_start_costs_its_cell(void **state)
{
    (void)state;
    make_odd_program();
    open_session(SESSION_LIVE);
    unsigned further = add_lane(SESSION_LIVE, "/odd");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(further, "print on", 10000)->status, -ENOEXEC);
        assert_non_null(strstr(world.seen.fault, "/odd"));
        assert_string_equal(out_of(0, "print on"), "on\n");
    }
}

static void a_cell_cancelled_while_its_program_starts_leaves_the_session(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    unsigned further = add_lane(SESSION_LIVE, NULL);
    out_of(0, "print on");
    cell_cancel(begin(further, "print never", 10000)->cell);
    assert_string_equal(out_of(0, "print on"), "on\n");
    assert_string_equal(out_of(further, "print on"), "on\n");
}

static void frames_of_one_lane_are_out_of_reach_of_another(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    unsigned further = add_lane(SESSION_FRESH, NULL);
    out_of(0, "print on");
    assert_string_equal(out_of(further, "forge 2"), "0\n");
    assert_string_equal(out_of(0, "print on"), "on\n");
}

static void there_are_only_so_many(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    for (unsigned i = 1; i < SESSION_LANES_MAX; i++) {
        unsigned lane = add_lane(SESSION_LIVE, NULL);
        assert_string_equal(out_of(lane, "print on"), "on\n");
    }
    const struct session_spec spec = spec_of(SESSION_LIVE, NULL);
    unsigned lane;
    struct fault fault = {0};
    assert_int_equal(engine_add_lane(world.session, &spec, &lane, &fault), -EMFILE);
}

int main(void)
{
    if (!has_jails())
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_lanes_have_the_same_files, forget),
        cmocka_unit_test_teardown(each_lane_has_its_own_variables, forget),
        cmocka_unit_test_teardown(stdin_is_that_of_the_cell, forget),
        cmocka_unit_test_teardown(a_program_anew_ends_without_the_live_ones, forget),
        cmocka_unit_test_teardown(what_one_leaves_goes_on_while_another_runs, forget),
        cmocka_unit_test_teardown(interrupts_and_limits_reach_the_lane_of_the_cell, forget),
        cmocka_unit_test_teardown(the_end_of_a_live_program_is_that_of_the_session, forget),
        cmocka_unit_test_teardown(a_program_that_does_not_start_costs_its_cell, forget),
        cmocka_unit_test_teardown(a_cell_cancelled_while_its_program_starts_leaves_the_session,
                                  forget),
        cmocka_unit_test_teardown(frames_of_one_lane_are_out_of_reach_of_another, forget),
        cmocka_unit_test_teardown(there_are_only_so_many, forget),
    };
    return cmocka_run_group_tests(tests, open_stage, close_stage);
}
