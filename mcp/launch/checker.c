#include "mcp/launch/checker.h"

#include "images/runners/javascript/acorn-program.h"
#include "images/runners/javascript/check-program.h"
#include "images/runners/javascript/constants-program.h"
#include "images/runners/python/check-program.h"
#include "images/runners/python/constants-program.h"
#include "mcp/rules/check_answer.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <string.h>

#define CALL_MAX (512 * KIBIBYTE)
#define ANSWER_MAX (2 * MEBIBYTE)
#define MEMORY_MAX (512 * MEBIBYTE) /* of a checker */
#define DISK_MAX (64 * MEBIBYTE)
#define START_MAX_MS 10000
#define FILES_MAX 3

/* How each language checks: what is there from the first cell on, and what each further cell says. */
static const struct way {
    struct run_input files[FILES_MAX];
    size_t file_count;
    const char *start;
    /* With the numbers of the wishes for strings and missing modules, and an array of names. */
    const char *before, *between, *after;
} ways[LANGUAGE_COUNT] = {
    [LANGUAGE_PYTHON] =
        {
            .files = {{"check.py", python_check_program, sizeof(python_check_program)},
                      {"constants.py", python_constants_program, sizeof(python_constants_program)}},
            .file_count = 2,
            .start = "import sys; from check import check",
            .before = "check(sys.stdin.buffer.read(), ",
            .between = ", ",
            .after = ")",
        },
    [LANGUAGE_JAVASCRIPT] =
        {
            .files = {{"check.cjs", javascript_check_program, sizeof(javascript_check_program)},
                      {"constants.cjs", javascript_constants_program,
                       sizeof(javascript_constants_program)},
                      {"acorn.js", acorn_program, sizeof(acorn_program)}},
            .file_count = 3,
            .start = "const { check } = require('./check.cjs'), { readFileSync } = require('fs');",
            .before = "console.log(JSON.stringify(check(readFileSync(0, 'utf8'), ",
            .between = ", ",
            .after = ")));",
        },
};

/* Its sandboxes have nothing but the interpreter, however much snippets may have. */
static int make_settings(const struct settings *from, struct settings *settings,
                         struct fault *fault)
{
    *settings = settings_default();
    settings->no_cgroup = true;
    settings->engine.tier = from->engine.tier;
    settings->engine.warm = 0;
    settings->engine.parallel = LANGUAGE_COUNT;
    settings->wall_max_ms = START_MAX_MS;
    settings->no_images = true;
    settings->limits.output_kept = ANSWER_MAX;
    settings->limits.memory_bytes = MEMORY_MAX;
    settings->limits.disk_bytes = DISK_MAX;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        if (from->images[i] == NULL)
            continue;
        settings->images[i] = strdup(from->images[i]);
        if (settings->images[i] == NULL)
            return fault_set(fault, ENOMEM, "preparing the checks of --policy: %m");
    }
    return 0;
}

int checker_open(struct checker *checker, struct loop *loop, const struct settings *settings,
                 struct fault *fault)
{
    *checker = (struct checker){.rules = RULES_NONE};
    int r = make_settings(settings, &checker->settings, fault);
    if (r == 0)
        r = rules_read(settings->policy != NULL ? settings->policy : "off", &checker->rules, fault);
    if (r < 0) {
        checker_release(checker);
        return r;
    }
    checker->launcher = launcher_of(loop, &checker->settings);
    return 0;
}

void checker_stop(struct checker *checker)
{
    launcher_release(&checker->launcher);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        checker->languages[i].session = NULL;
}

void checker_release(struct checker *checker)
{
    checker_stop(checker);
    rules_release(&checker->rules);
    settings_release(&checker->settings);
}

bool checker_knows(const struct language *language)
{
    return ways[language_id(language)].file_count > 0;
}

bool checker_is_for(const struct checker *checker, const struct language *language)
{
    return checker_knows(language) && rules_are_there(&checker->rules);
}

static void session_ended(void *data, int status, const struct run_result *result,
                          const struct fault *fault)
{
    (void)status;
    (void)result;
    (void)fault;
    struct checker_of_language *own = data;
    own->session = NULL;
}

static void first_cell_done(void *data, int status, struct run_result *result,
                            const struct fault *fault)
{
    (void)data;
    (void)status;
    (void)result;
    (void)fault; /* if it failed, each check does, too */
}

static int ensure_session(struct checker *checker, const struct language *language,
                          struct fault *fault)
{
    struct checker_of_language *own = &checker->languages[language_id(language)];
    const struct way *way = &ways[language_id(language)];
    if (own->session != NULL)
        return 0;
    const struct session_observer observer = {.ended = session_ended, .data = own};
    int r = launcher_open_session(&checker->launcher, language, &observer, &own->session, fault);
    if (r < 0)
        return r;
    const struct snippet first = {
        .language = language,
        .code = way->start,
        .length = strlen(way->start),
        .wall_ms = START_MAX_MS,
        .inputs = way->files,
        .input_count = way->file_count,
    };
    const struct run_observer cell_observer = {.done = first_cell_done};
    struct cell *cell = NULL;
    return launcher_continue(&checker->launcher, own->session, &first, &cell_observer, &cell,
                             fault);
}

/* Names that a program may import although no image has them: of its own input files. */
static int write_known(const struct snippet *snippet, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_array(writer);
    for (size_t i = 0; i < snippet->input_count; i++) {
        const char *name = snippet->inputs[i].name;
        json_string(writer, name, strcspn(name, "./"));
    }
    json_end_array(writer);
    return json_writer_close(writer);
}

static int write_call(const struct checker *checker, const struct snippet *snippet,
                      struct buffer *text)
{
    const struct way *way = &ways[language_id(snippet->language)];
    int r = buffer_format(text, "%s%d%s%d%s", way->before, rules_want_literals(&checker->rules),
                          way->between, rules_want_missing(&checker->rules), way->between);
    if (r == 0)
        r = write_known(snippet, text);
    return r < 0 ? r : buffer_append_text(text, way->after);
}

/* 0, or why it counts as unparsed. */
static const char *read_answer(struct check *check, const struct run_result *result)
{
    if (result->outcome == OUTCOME_TIMED_OUT)
        return "the check took too long";
    if (result->outcome != OUTCOME_EXITED || result->exit_code != 0)
        return "the checker failed";
    if (result->out.cut > 0 || result->out.tail.length > 0)
        return "the program names too much";
    return check_answer_read(&check->checker->rules, result->out.head.data, result->out.head.length,
                             &check->findings);
}

static void cell_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    (void)fault;
    struct check *check = data;
    check->cell = NULL;
    check->duration_ns = clock_now() - check->began;
    const char *why = status < 0 ? "the checker ended" : read_answer(check, result);
    if (why != NULL)
        rules_judge_unparsed(&check->checker->rules, why, &check->findings);
    check->done(check);
}

int check_begin(struct check *check, struct checker *checker, const struct snippet *snippet,
                struct fault *fault)
{
    OWNED(buffer_release) struct buffer call = BUFFER(CALL_MAX);
    check->checker = checker;
    check->began = clock_now();
    int r = ensure_session(checker, snippet->language, fault);
    if (r < 0)
        return r;
    r = write_call(checker, snippet, &call);
    if (r < 0)
        return fault_set(fault, -r, "preparing the check of a program: %m");
    const struct snippet cell = {
        .language = snippet->language,
        .code = call.data,
        .length = call.length,
        .wall_ms = CHECK_MAX_MS,
        .stdin_source = {.kind = STDIN_BYTES, .bytes = snippet->code, .length = snippet->length},
    };
    const struct run_observer observer = {.done = cell_done, .data = check};
    return launcher_continue(&checker->launcher,
                             checker->languages[language_id(snippet->language)].session, &cell,
                             &observer, &check->cell, fault);
}

void check_drop(struct check *check)
{
    if (check->cell != NULL && check->checker->launcher.engine != NULL)
        cell_cancel(check->cell);
    check->cell = NULL;
}
