#include "tests/unit/session-running.h"

#include "sandbox/base/owned.h"
#include "tests/bench/bench-rootfs.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct world world;

static void note_answer(struct seen *seen, int status, const struct fault *fault)
{
    assert_false(seen->is_done);
    seen->is_done = true;
    seen->status = status;
    seen->command = NULL;
    seen->answered_at = clock_now();
    if (fault != NULL && status < 0) {
        seen->fault_id = fault->id;
        snprintf(seen->fault, sizeof(seen->fault), "%s", fault->text);
    }
    note_answered();
}

static void keep(const struct capture *capture, char text[TEXT_SIZE])
{
    size_t length = capture->head.length < TEXT_SIZE ? capture->head.length : TEXT_SIZE - 1;
    if (length > 0)
        memcpy(text, capture->head.data, length);
    text[length] = '\0';
}

static void command_done(void *data, int status, struct command_result *result,
                         const struct fault *fault)
{
    struct seen *seen = data;
    if (status == 0) {
        seen->result = *result;
        keep(&result->out, seen->out);
        keep(&result->err, seen->err);
    }
    note_answer(seen, status, fault);
}

static bool command_output(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    (void)stream;
    (void)bytes;
    struct seen *seen = data;
    seen->told += length;
    return seen->room == 0 || seen->told < seen->room;
}

static void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct seen *seen = data;
    if (status == 0) {
        OWNED(run_result_release) struct run_result taken;
        run_result_take(result, &taken);
        result = &taken;
        seen->result.outcome = result->outcome;
        seen->result.exit_code = result->exit_code;
        keep(&result->out, seen->out);
    }
    note_answer(seen, status, fault);
}

static void session_ended(void *data, int status, const struct run_result *result,
                          const struct fault *fault)
{
    (void)data;
    (void)status;
    (void)result;
    (void)fault;
    world.session = NULL;
}

void open_as(enum session_kind kind, bool keeps_running)
{
    static const char *const live[] = {BENCH_PROGRAM, "serve", NULL};
    static const char *const fresh[] = {BENCH_PROGRAM, "file", "main", NULL};
    static const char *const environment[] = {"VALUE=of the session", NULL};
    struct session_spec spec = {
        .run = {.image = "test",
                .rootfs = stage.rootfs,
                .argv = kind == SESSION_LIVE ? live : fresh,
                .environment = environment,
                .code_name = "main",
                .code = "",
                .session = kind,
                .keeps_running = keeps_running,
                .folders = world.folders,
                .limits = run_limits_default()},
    };
    spec.run.limits.output_total = 8 * MEBIBYTE;
    const struct session_observer observer = {.ended = session_ended};
    struct fault fault = {0};
    int r = engine_open_session(stage.engine, &spec, &observer, &world.session, &fault);
    if (r < 0)
        fail_msg("%s", fault.text);
}

void open_session(enum session_kind kind)
{
    open_as(kind, false);
}

int start(struct seen *seen, const struct command_spec *spec, struct fault *fault)
{
    const struct command_observer observer = {
        .done = command_done, .output = command_output, .data = seen};
    int r = session_exec(world.session, spec, &observer, &seen->command, fault);
    if (r == 0)
        stage.awaited++;
    return r;
}

/* Of a few words, with this time. */
struct seen *exec(size_t index, const char *one, const char *two, int64_t wall_ms)
{
    const char *const argv[] = {BENCH_PROGRAM, one, two, NULL};
    const struct command_spec spec = {.argv = argv, .wall_ms = wall_ms};
    struct fault fault = {0};
    if (start(&world.seen[index], &spec, &fault) < 0)
        fail_msg("%s", fault.text);
    return &world.seen[index];
}

struct seen *submit(size_t index, const char *code)
{
    struct seen *seen = &world.seen[index];
    const struct cell_spec spec = {.code = code, .code_length = strlen(code), .wall_ms = 10000};
    const struct run_observer observer = {.done = cell_done, .data = seen};
    struct fault fault = {0};
    if (session_submit(world.session, &spec, &observer, &seen->cell, &fault) < 0)
        fail_msg("%s", fault.text);
    stage.awaited++;
    return seen;
}

void assert_exited(const struct seen *seen, int exit_code)
{
    if (seen->status < 0)
        fail_msg("%s", seen->fault);
    assert_int_equal(seen->result.outcome, OUTCOME_EXITED);
    assert_int_equal(seen->result.exit_code, exit_code);
}

int forget(void **state)
{
    (void)state;
    if (world.session != NULL)
        session_end(world.session);
    world.session = NULL;
    stage.awaited = 0;
    memset(world.seen, 0, sizeof(world.seen));
    return 0;
}

struct seen *look(size_t index)
{
    struct seen *seen = &world.seen[index];
    const struct run_observer observer = {.done = cell_done, .data = seen};
    struct fault fault = {0};
    if (session_look(world.session, &observer, &seen->cell, &fault) < 0)
        fail_msg("%s", fault.text);
    stage.awaited++;
    return seen;
}
