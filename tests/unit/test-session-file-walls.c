#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/jail/child/file_request.h"
#include "sandbox/session_file.h"
#include "sandbox/session_state.h"
#include "tests/unit/needs-jails.h"
#include "tests/unit/session-asking.h"
#include "tests/unit/weakest-tier.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void so_many_run_at_once_and_some_wait(void **state)
{
    (void)state;
    struct seen *seen[MANY];
    struct fault fault = {0};
    struct session_file *file;
    const struct file_observer observer = {0};
    const struct file_spec spec = {.operation = FILE_STAT, .path = ".", .wall_ms = PATIENCE_MS};
    open_session(SESSION_LIVE);
    for (size_t i = 0; i < MANY; i++)
        seen[i] = begin(&spec);
    assert_int_equal(session_file(world.session, &spec, &observer, &file, &fault), -EAGAIN);
    assert_string_equal(fault.id, "busy");
    await_all();
    for (size_t i = 0; i < MANY; i++)
        expect(seen[i], "");
}

static void requests_run_beside_cells_and_commands(enum session_kind kind)
{
    open_session(kind);
    put("f", "text");
    struct seen *seen[8];
    static const char code[] = "wait 300";
    struct seen *at_cell = free_place();
    const struct cell_spec cell = {.code = code, .code_length = strlen(code), .wall_ms = 10000};
    const struct run_observer observer = {.done = cell_done, .data = at_cell};
    struct cell *handle;
    struct fault fault = {0};
    assert_int_equal(session_submit(world.session, &cell, &observer, &handle, &fault), 0);
    at_cell->file = (void *)handle;
    stage.awaited++;
    struct seen *command = exec("wait", "600", NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(seen); i++) {
        seen[i] = begin(&(struct file_spec){.operation = FILE_READ, .path = "f", .length = 10});
        turn(100);
    }
    await_all();
    assert_int_equal(command->exit_code, 0);
    assert_int_equal(at_cell->exit_code, 0);
    for (size_t i = 0; i < ARRAY_LENGTH(seen); i++) {
        expect(seen[i], "");
        assert_string_equal(seen[i]->bytes, "text");
    }
}

static void they_run_beside_cells_and_commands(void **state)
{
    requests_run_beside_cells_and_commands(SESSION_LIVE);
    forget(state);
    requests_run_beside_cells_and_commands(SESSION_FRESH);
}

/* The end of a cell stops all processes for a while. */
static void they_outlive_the_end_of_cells(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    for (int i = 0; i < 40; i++) {
        if (i % 20 == 0) {
            forget(NULL);
            open_session(i == 0 ? SESSION_LIVE : SESSION_FRESH);
        }
        memset(world.seen, 0, sizeof(world.seen));
        struct seen *at_cell = free_place();
        const struct cell_spec cell = {.code = "wait 5", .code_length = 6, .wall_ms = 10000};
        const struct run_observer observer = {.done = cell_done, .data = at_cell};
        struct cell *handle;
        struct fault fault = {0};
        assert_int_equal(session_submit(world.session, &cell, &observer, &handle, &fault), 0);
        at_cell->file = (void *)handle;
        stage.awaited++;
        turn(1 + i % 20);
        struct seen *seen = begin(&(struct file_spec){
            .operation = FILE_WRITE, .path = "f", .bytes = bytes, .length = sizeof(bytes)});
        await_all();
        expect(seen, "");
        assert_int_equal(at_cell->outcome, OUTCOME_EXITED);
    }
}

static int64_t size_of_ticks(void)
{
    return (int64_t)ask_of(FILE_STAT, "ticks")->entry.size;
}

static void nothing_else_goes_on_for_them(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    run("daemon", "ticks", NULL);
    int64_t before = size_of_ticks();
    for (int i = 0; i < 50; i++)
        expect(ask_of(FILE_LIST, "."), "");
    assert_int_equal(size_of_ticks(), before);
    run("wait", "500", NULL);
    assert_true(size_of_ticks() > before + 20);
}

static void a_killed_one_is_no_success(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    size_t interrupted = 0;
    open_session(SESSION_FRESH);
    memset(bytes, 'n', sizeof(bytes));
    put("f", "old");
    struct seen *hunter = exec("hunt", "9", "2000");
    hunter->file = (void *)hunter;
    turn(50);
    for (int i = 0; i < 100 && !hunter->is_done; i++) {
        struct file_spec spec = {
            .operation = FILE_WRITE, .path = "f", .bytes = bytes, .length = sizeof(bytes)};
        struct seen *seen = begin(&spec);
        while (!seen->is_done && world.session != NULL)
            turn(5);
        if (seen->status < 0)
            assert_string_equal(seen->id, "interrupted");
        interrupted += seen->status < 0;
        memset(seen, 0, sizeof(*seen));
    }
    await_all();
    assert_true(interrupted > 0);
    memset(hunter, 0, sizeof(*hunter));
    const struct seen *seen = ask_of(FILE_READ, "f");
    assert_true(seen->length == 3 || seen->length == sizeof(bytes)); /* never a half */
}

static void a_full_session_is_told(void **state)
{
    (void)state;
    world.limits.processes = 8;
    open_session(SESSION_FRESH);
    put("f", "text");
    struct seen *other = exec("crowd", "800", NULL);
    AWAIT(other->has_told);
    struct seen *seen = begin(&(struct file_spec){.operation = FILE_READ, .path = "f"});
    await_all();
    expect(seen, "limit");
    memset(world.seen, 0, sizeof(world.seen));
    expect_text("f", "text");
}

/* As if the answer ended wherever the process may be killed. */
static void fill_with_ends(char *bytes, size_t size)
{
    for (size_t end = sizeof(struct file_answer); end <= size; end += sizeof(struct file_answer)) {
        const struct file_answer answer = {.length = end - sizeof(answer), .call = -1};
        memcpy(bytes + end - sizeof(answer), &answer, sizeof(answer));
    }
}

static void a_cut_answer_is_not_taken_for_whole(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    size_t interrupted = 0;
    open_session(SESSION_FRESH);
    fill_with_ends(bytes, sizeof(bytes));
    expect(ask(&(struct file_spec){
               .operation = FILE_WRITE, .path = "f", .bytes = bytes, .length = sizeof(bytes)}),
           "");
    struct seen *hunter = exec("hunt", "9", "2000");
    turn(50);
    while (!hunter->is_done) {
        struct seen *seen = begin(
            &(struct file_spec){.operation = FILE_READ, .path = "f", .length = sizeof(bytes)});
        while (!seen->is_done)
            turn(2);
        if (seen->status == 0)
            assert_int_equal(seen->length, sizeof(bytes));
        else
            expect(seen, "interrupted");
        interrupted += seen->status < 0;
        memset(seen, 0, sizeof(*seen));
    }
    assert_true(interrupted > 0);
}

static void a_stopped_one_is_told_and_ends(void **state)
{
    (void)state;
    open_session(SESSION_FRESH);
    put("f", "text");
    struct seen *hunter = exec("hunt", "19", "1500");
    turn(50);
    struct seen *seen = begin(
        &(struct file_spec){.operation = FILE_READ, .path = "f", .length = 4, .wall_ms = 300});
    await_all();
    assert_true(hunter->is_done);
    if (seen->status < 0)
        assert_string_equal(seen->id, "busy");
    memset(world.seen, 0, sizeof(world.seen));
    expect_text("f", "text");
}

static void a_path_that_changes_leads_nowhere_else(void **state)
{
    (void)state;
    static const char expected[] = "good";
    size_t read = 0;
    open_session(SESSION_LIVE);
    put("good", expected);
    run("fifo", "fifo", NULL);
    struct seen *other = exec("exchange", "target", "2000");
    while (!other->is_done) {
        struct seen *seen =
            begin(&(struct file_spec){.operation = FILE_READ, .path = "target", .length = 64});
        while (!seen->is_done)
            turn(2);
        if (seen->status == 0)
            assert_string_equal(seen->bytes, expected);
        read += seen->status == 0;
        memset(seen, 0, sizeof(*seen));
    }
    assert_true(read > 0);
}

/* A directory that is being emptied is moved to one with other files: these are not meant. */
static void a_tree_that_is_moved_takes_nothing_along(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    put("kept/f", "kept");
    struct seen *other = exec("shuffle", "2000", NULL);
    while (!other->is_done) {
        struct seen *seen =
            begin(&(struct file_spec){.operation = FILE_REMOVE, .path = "t", .recurses = true});
        while (!seen->is_done)
            turn(2);
        memset(seen, 0, sizeof(*seen));
    }
    memset(other, 0, sizeof(*other));
    expect_text("kept/f", "kept");
}

static void the_process_shows_nothing_of_itself(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    open_session(SESSION_LIVE);
    struct seen *other = exec("pry", "1000", NULL);
    while (!other->is_done) {
        struct seen *seen = begin(&(struct file_spec){
            .operation = FILE_WRITE, .path = "f", .bytes = bytes, .length = sizeof(bytes)});
        while (!seen->is_done)
            turn(2);
        memset(seen, 0, sizeof(*seen));
    }
    assert_string_equal(other->bytes, "");
}

/* What was cancelled may be under way for a while. */
static void await_names(const char *names)
{
    const char *seen = "";
    for (int i = 0; i < 400 && strcmp(seen, names) != 0; i++) {
        turn(i == 0 ? 0 : 10);
        memset(world.seen, 0, sizeof(world.seen));
        seen = ask_of(FILE_LIST, ".")->bytes;
    }
    assert_string_equal(seen, names);
}

static void a_cancelled_one_is_not_told(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    const struct file_spec spec = {
        .operation = FILE_WRITE, .path = "f", .bytes = bytes, .length = sizeof(bytes)};
    open_session(SESSION_LIVE);
    for (int i = 0; i < 20; i++) {
        put("f", "old");
        struct seen *seen = begin(&spec);
        turn(i % 5);
        if (!seen->is_done) {
            session_file_cancel(seen->file);
            stage.awaited--;
        }
        bool was_done = seen->is_done;
        turn(20);
        assert_int_equal(seen->is_done, was_done);
        memset(world.seen, 0, sizeof(world.seen));
        const struct seen *now = ask_of(FILE_READ, "f");
        assert_true(now->length == 3 || now->length == sizeof(bytes));
        await_names("f,");
    }
}

static void the_end_of_a_session_is_told(void **state)
{
    (void)state;
    static char bytes[FILE_PIECE_MAX];
    for (int i = 0; i < 40; i++) {
        memset(world.seen, 0, sizeof(world.seen));
        open_session(i % 2 == 0 ? SESSION_LIVE : SESSION_FRESH);
        expect(ask_of(FILE_STAT, "."), "");
        struct seen *seen[6];
        for (size_t j = 0; j < ARRAY_LENGTH(seen); j++)
            seen[j] = begin(&(struct file_spec){
                .operation = FILE_WRITE, .path = "f", .bytes = bytes, .length = sizeof(bytes)});
        turn(i % 10);
        const struct sandbox *sandbox = &world.session->run->attempt.limited.sandbox;
        assert_int_equal(kill(sandbox->pid, SIGKILL), 0);
        await_all();
        for (size_t j = 0; j < ARRAY_LENGTH(seen); j++)
            if (seen[j]->status < 0)
                expect(seen[j], "lost");
        turn(100);
        assert_null(world.session);
    }
}

static void an_ended_session_tells_nobody(void **state)
{
    (void)state;
    open_session(SESSION_LIVE);
    expect(ask_of(FILE_STAT, "."), "");
    struct seen *seen = begin(&(struct file_spec){.operation = FILE_LIST, .path = "."});
    session_end(world.session);
    world.session = NULL;
    stage.awaited = 0;
    turn(100);
    assert_false(seen->is_done);
}

/* `outside`: a file of the host that its user may read and write. */
/* `outside`: a file of the host that its user may read and write; what has its name in the jail is another. */
static void work_in_tier(const char *outside)
{
    struct stat before, after;
    assert_int_equal(stat(outside, &before), 0);
    open_session(SESSION_FRESH);
    run("link", outside, "outside");
    assert_true(ask_of(FILE_READ, outside)->status < 0);
    assert_true(ask_of(FILE_READ, "outside")->status < 0);
    assert_true(ask_of(FILE_REMOVE, outside)->status < 0);
    struct file_spec spec = {
        .operation = FILE_WRITE, .path = outside, .bytes = "x", .length = 1, .appends = true};
    ask(&spec);
    spec.appends = false;
    ask(&spec);
    spec.path = "outside";
    ask(&spec);
    assert_int_equal(stat(outside, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_size, 0);
    expect(ask_of(FILE_REMOVE, "outside"), "");
    put("a/f", "text");
    expect_text("a/f", "text");
    expect(ask(&(struct file_spec){.operation = FILE_MOVE, .path = "a/f", .to = "g"}), "");
    assert_string_equal(ask_of(FILE_LIST, ".")->bytes, "a,g,");
    expect(ask(&(struct file_spec){.operation = FILE_REMOVE, .path = "a", .recurses = true}), "");
    assert_true(ask_of(FILE_READ, "/etc/shadow")->status < 0);
    assert_true(ask_of(FILE_READ, "/proc/self/environ")->status < 0);
    assert_true(ask(&(struct file_spec){.operation = FILE_WRITE, .path = "/etc/new"})->status < 0);
    assert_true(ask(&(struct file_spec){.operation = FILE_WRITE, .path = "/etc/passwd"})->status <
                0);
    forget(NULL);
}

static void files_work_without_some_walls(void **state)
{
    (void)state;
    const enum tier tiers[] = {TIER_P, weakest_tier()};
    struct engine *strong = stage.engine;
    char roots[] = "/tmp/code-sandbox-roots-XXXXXX", outside[] = "/tmp/session-file-XXXXXX";
    assert_non_null(mkdtemp(roots));
    OWNED_FD int outside_fd = mkstemp(outside);
    assert_true(outside_fd >= 0);
    for (size_t i = 0; i < ARRAY_LENGTH(tiers); i++) {
        const struct engine_options options = {
            .parallel = 2, .cgroup = CGROUP_NEVER, .tier = tiers[i], .roots = roots};
        struct fault fault = {0};
        int r = engine_new(&stage.loop, &options, &stage.engine, &fault);
        if (r < 0) {
            stage.engine = strong;
            fail_msg("%s", fault.text);
        }
        work_in_tier(outside);
        engine_free(stage.engine);
        stage.engine = strong;
    }
    assert_int_equal(tree_remove(AT_FDCWD, roots), 0);
    assert_int_equal(unlink(outside), 0);
}

int main(void)
{
    if (!has_jails())
        return 0;
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(so_many_run_at_once_and_some_wait),
        TEST(they_run_beside_cells_and_commands),
        TEST(they_outlive_the_end_of_cells),
        TEST(nothing_else_goes_on_for_them),
        TEST(a_killed_one_is_no_success),
        TEST(a_full_session_is_told),
        TEST(a_cut_answer_is_not_taken_for_whole),
        TEST(a_stopped_one_is_told_and_ends),
        TEST(a_path_that_changes_leads_nowhere_else),
        TEST(a_tree_that_is_moved_takes_nothing_along),
        TEST(the_process_shows_nothing_of_itself),
        TEST(a_cancelled_one_is_not_told),
        TEST(the_end_of_a_session_is_told),
        TEST(an_ended_session_tells_nobody),
        TEST(files_work_without_some_walls),
    };
    return cmocka_run_group_tests(tests, open_world, close_stage);
}
