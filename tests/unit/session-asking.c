#include "tests/unit/session-asking.h"

#include "tests/bench/bench-rootfs.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WALL_MS 30000

struct world world;

static void note_answer(struct seen *seen, int status, const struct fault *fault)
{
    assert_false(seen->is_done);
    seen->is_done = true;
    seen->status = status;
    if (status < 0) {
        snprintf(seen->id, sizeof(seen->id), "%s", fault->id != NULL ? fault->id : "");
        snprintf(seen->text, sizeof(seen->text), "%s", fault->text);
        assert_true(seen->text[0] != '\0');
    }
    note_answered();
}

static void file_done(void *data, int status, const struct file_result *result,
                      const struct fault *fault)
{
    struct seen *seen = data;
    if (status == 0) {
        seen->entry = result->entry;
        seen->length = result->length;
        seen->is_end = result->is_end;
        seen->has_more = result->has_more;
        if (result->length > 0)
            memcpy(seen->bytes, result->bytes,
                   result->length < sizeof(seen->bytes) - 1 ? result->length
                                                            : sizeof(seen->bytes) - 1);
        for (size_t i = 0; i < result->entry_count; i++) {
            seen->entry = result->entries[i];
            seen->length++;
            size_t used = strlen(seen->bytes);
            snprintf(seen->bytes + used, sizeof(seen->bytes) - used, "%s,",
                     result->entries[i].name);
        }
        seen->entry.name = NULL;
    }
    note_answer(seen, status, fault);
}

static void command_done(void *data, int status, struct command_result *result,
                         const struct fault *fault)
{
    struct seen *seen = data;
    if (status == 0) {
        const struct buffer *head = &result->out.head;
        seen->outcome = result->outcome;
        seen->exit_code = result->exit_code;
        seen->length = head->length;
        if (head->length > 0)
            memcpy(seen->bytes, head->data,
                   head->length < sizeof(seen->bytes) - 1 ? head->length : sizeof(seen->bytes) - 1);
    }
    note_answer(seen, status, fault);
}

static bool command_output(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    (void)stream;
    (void)bytes;
    struct seen *seen = data;
    seen->has_told = seen->has_told || length > 0;
    return true;
}

void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct seen *seen = data;
    if (status == 0) {
        seen->outcome = result->outcome;
        seen->exit_code = result->exit_code;
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

void open_session(enum session_kind kind)
{
    static const char *const live[] = {BENCH_PROGRAM, "serve", NULL};
    static const char *const fresh[] = {BENCH_PROGRAM, "file", "main", NULL};
    struct session_spec spec = {
        .run = {.image = "test",
                .rootfs = stage.rootfs,
                .argv = kind == SESSION_LIVE ? live : fresh,
                .code_name = "main",
                .code = "",
                .session = kind,
                .folders = world.folders,
                .limits = world.limits},
    };
    const struct session_observer observer = {.ended = session_ended};
    struct fault fault = {0};
    int r = engine_open_session(stage.engine, &spec, &observer, &world.session, &fault);
    if (r < 0)
        fail_msg("%s", fault.text);
}

struct seen *free_place(void)
{
    for (size_t i = 0; i < MANY; i++)
        if (world.seen[i].file == NULL)
            return &world.seen[i];
    fail();
    return NULL;
}

struct seen *begin(const struct file_spec *spec)
{
    struct file_spec timed = *spec;
    struct seen *seen = free_place();
    const struct file_observer observer = {file_done, seen};
    struct fault fault = {0};
    timed.wall_ms = spec->wall_ms > 0 ? spec->wall_ms : WALL_MS;
    if (session_file(world.session, &timed, &observer, &seen->file, &fault) < 0)
        fail_msg("%s", fault.text);
    stage.awaited++;
    return seen;
}

struct seen *ask(const struct file_spec *spec)
{
    static struct seen answer;
    struct seen *seen = begin(spec);
    await_all();
    answer = *seen;
    memset(seen, 0, sizeof(*seen));
    return &answer;
}

struct seen *ask_of(enum file_operation operation, const char *path)
{
    return ask(&(struct file_spec){.operation = operation, .path = path, .length = FILE_PIECE_MAX});
}

void expect(const struct seen *seen, const char *id)
{
    if (strcmp(seen->id, id) != 0)
        fail_msg("\"%s\" instead of \"%s\": %s", seen->id, id, seen->text);
    assert_int_equal(seen->status < 0, id[0] != '\0');
}

void put(const char *path, const char *text)
{
    expect(ask(&(struct file_spec){
               .operation = FILE_WRITE, .path = path, .bytes = text, .length = strlen(text)}),
           "");
}

void expect_text(const char *path, const char *text)
{
    const struct seen *seen = ask_of(FILE_READ, path);
    expect(seen, "");
    assert_string_equal(seen->bytes, text);
    assert_int_equal(seen->length, strlen(text));
    assert_int_equal(seen->entry.size, strlen(text));
    assert_true(seen->is_end);
}

struct seen *exec(const char *one, const char *two, const char *three)
{
    const char *const argv[] = {BENCH_PROGRAM, one, two, three, NULL};
    const struct command_spec spec = {.argv = argv, .wall_ms = PATIENCE_MS};
    struct seen *seen = free_place();
    const struct command_observer observer = {
        .done = command_done, .output = command_output, .data = seen};
    struct session_command *command;
    struct fault fault = {0};
    if (session_exec(world.session, &spec, &observer, &command, &fault) < 0)
        fail_msg("%s", fault.text);
    seen->file = (void *)command; /* taken */
    stage.awaited++;
    return seen;
}

void run(const char *one, const char *two, const char *three)
{
    struct seen *seen = exec(one, two, three);
    await_all();
    if (seen->exit_code != 0)
        fail_msg("%s %s %s: %d", one, two, three != NULL ? three : "", seen->exit_code);
    memset(seen, 0, sizeof(*seen));
}

int open_world(void **state)
{
    world.limits = run_limits_default();
    return open_stage(state);
}

int forget(void **state)
{
    (void)state;
    if (world.session != NULL)
        session_end(world.session);
    world.session = NULL;
    stage.awaited = 0;
    world.limits = run_limits_default();
    world.folders = NULL;
    memset(world.seen, 0, sizeof(world.seen));
    return 0;
}
