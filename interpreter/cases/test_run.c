#include "interpreter/cases/test_run.h"

#include "interpreter/compiled.h"
#include "interpreter/languages/main_class.h"
#include "interpreter/languages/placeholders.h"
#include "interpreter/result/result_json.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/signal_name.h"
#include "sandbox/inherited.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run_inputs.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool has_given(const struct test_case *test, const char *name)
{
    for (size_t i = 0; i < test->files.count; i++)
        if (strcmp(test->files.files[i].name, name) == 0)
            return true;
    return false;
}

/* The files of the program, and those of the test, which count where both have one. Owned by the caller; NULL: no memory. */
static struct run_input *merge_inputs(const struct test_run *run, const struct test_case *test,
                                      size_t *ret_count)
{
    const struct snippet *program = &run->kept.snippet;
    struct run_input *inputs =
        calloc(program->input_count + test->files.count + 1, sizeof(*inputs));
    size_t count = 0;
    if (inputs == NULL)
        return NULL;
    for (size_t i = 0; i < program->input_count; i++)
        if (!has_given(test, program->inputs[i].name))
            inputs[count++] = program->inputs[i];
    for (size_t i = 0; i < test->files.count; i++)
        inputs[count++] = test->files.files[i];
    *ret_count = count;
    return inputs;
}

static int check_inputs(const struct test_run *run, struct fault *fault)
{
    const struct snippet *program = &run->kept.snippet;
    const struct placeholder_values values = {.of = main_class_find(program->code, program->length),
                                              .work = "."};
    OWNED_MEMORY char *code_name = placeholders_fill(program->language->code_name, &values);
    if (code_name == NULL)
        return fault_set(fault, ENOMEM, "starting tests: %m");
    for (size_t i = 0; i < run->set.count; i++) {
        size_t count = 0;
        OWNED_MEMORY struct run_input *inputs = merge_inputs(run, &run->set.list[i], &count);
        if (inputs == NULL)
            return fault_set(fault, ENOMEM, "starting tests: %m");
        int r = run_inputs_check(inputs, count, code_name, fault);
        if (r == 0 && run->set.list[i].expect_length > run->launcher->settings->limits.output_kept)
            r = fault_set(fault, E2BIG,
                          "\"expect\" is longer than what is kept of an output (--output)");
        if (r < 0) {
            fault_prefix(fault, "test %zu", i + 1);
            return r;
        }
    }
    return 0;
}

/* The first has the program compiled, here. */
static bool waits_for_program(const struct test_run *run)
{
    return run->kept.snippet.language->compile != NULL &&
           run->launcher->settings->fleet.url == NULL && run->share.compiled == NULL;
}

static size_t most_at_once(const struct test_run *run)
{
    if (waits_for_program(run))
        return 1;
    const struct settings *settings = run->launcher->settings;
    size_t wanted = run->set.parallel;
    size_t places =
        settings->engine.parallel > 0 ? settings->engine.parallel : inherited_processors();
    bool is_elsewhere = settings->fleet.url != NULL; /* where there may be more */
    return wanted > 0 && (is_elsewhere || wanted < places) ? wanted : places;
}

static bool begins_more(const struct test_run *run)
{
    bool does_not_compile = run->has_first && run->first.outcome == OUTCOME_COMPILE_FAILED;
    return run->status == 0 && run->next < run->set.count && run->running < most_at_once(run) &&
           !does_not_compile && !(run->set.stops_at_failure && run->has_failed);
}

/* As much of a stream as its share of the answer. */
static void keep_text(const struct test_run *run, const struct capture *capture,
                      struct buffer *ret_text)
{
    size_t share = TESTS_TEXT_MAX / (2 * run->set.count);
    size_t length = capture->head.length;
    if (share > TEST_TEXT_MAX)
        share = TEST_TEXT_MAX;
    if (length > share)
        length = share;
    *ret_text = BUFFER(share);
    buffer_append(ret_text, capture->head.data, length);
}

static void keep(struct tested *tested, const struct run_result *result)
{
    const struct test_run *run = tested->owner;
    const struct test_case *test = &run->set.list[tested - run->list];
    tested->has_run = true;
    tested->passed = test_case_passed(test, run->set.comparison, result);
    tested->outcome = result->outcome;
    tested->exit_code = result->exit_code;
    tested->signal = result->signal;
    tested->duration_ns = result->duration_ns;
    tested->cpu_ns = result->cpu_ns;
    tested->peak_memory_bytes = result->peak_memory_bytes;
    tested->out_bytes = result->out.total;
    tested->err_bytes = result->err.total;
    if (result->outcome == OUTCOME_COMPILE_FAILED)
        return; /* what the compiler printed is told once */
    keep_text(run, &result->out, &tested->out);
    keep_text(run, &result->err, &tested->err);
}

static void start_more(struct test_run *run);

static void test_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct tested *tested = data;
    struct test_run *run = tested->owner;
    tested->run = (struct launched){0};
    run->running--;
    if (status < 0 && run->status == 0) {
        run->status = status;
        run->fault = *fault;
    }
    if (status == 0) {
        keep(tested, result);
        run->passed += tested->passed;
        run->has_failed |= !tested->passed;
        if (run->ran != NULL)
            run->ran(run, result);
    }
    if (status == 0 && !run->has_first) {
        run_files_release(&result->files); /* their descriptors must not wait for other tests */
        run_files_release(&result->figures);
        run_result_take(result, &run->first);
        run->has_first = true;
    }
    start_more(run);
}

static int start_one(struct test_run *run, size_t number, struct fault *fault)
{
    const struct test_case *test = &run->set.list[number];
    struct tested *tested = &run->list[number];
    struct snippet snippet = run->kept.snippet;
    const struct run_observer observer = {.done = test_done, .data = tested};
    OWNED_MEMORY struct run_input *inputs = merge_inputs(run, test, &snippet.input_count);
    if (inputs == NULL)
        return fault_set(fault, ENOMEM, "starting a test: %m");
    snippet.inputs = inputs;
    if (test->stdin_source.kind != STDIN_EMPTY)
        snippet.stdin_source = test->stdin_source;
    if (test->arguments != NULL)
        snippet.arguments = test->arguments;
    snippet.share = &run->share;
    tested->owner = run;
    return launcher_start(run->launcher, &snippet, &observer, &tested->run, fault);
}

/* A full queue is no end of the tests: one that ends makes room. */
static void start_as_many(struct test_run *run)
{
    while (begins_more(run)) {
        size_t number = run->next++;
        run->running++;
        int r = start_one(run, number, &run->fault);
        if (r == 0)
            continue;
        run->next = number;
        run->running--;
        if (r == -EAGAIN && run->running > 0)
            return;
        fault_prefix(&run->fault, "test %zu", number + 1);
        run->status = r;
    }
}

/* A program may be there from the start: the first test then begins the others. */
static void program_ready(struct compile_share *share)
{
    struct test_run *run = container_of(share, struct test_run, share);
    if (!run->is_starting)
        start_as_many(run);
}

static void start_more(struct test_run *run)
{
    run->is_starting = true;
    start_as_many(run);
    run->is_starting = false;
    if (run->running == 0)
        run->done(run, run->status, run->status < 0 ? &run->fault : NULL);
}

int test_run_start(struct test_run *run, struct launcher *launcher, const struct snippet *snippet,
                   struct test_set *set, struct fault *fault)
{
    run->launcher = launcher;
    run->set = *set;
    *set = (struct test_set){0};
    run->list = calloc(run->set.count, sizeof(*run->list));
    int r = kept_snippet_make(snippet, &run->kept);
    if (r < 0 || run->list == NULL)
        return fault_set(fault, ENOMEM, "starting tests: %m");
    r = check_inputs(run, fault);
    if (r < 0)
        return r;
    run->share = (struct compile_share){.inputs = run->kept.snippet.inputs,
                                        .input_count = run->kept.snippet.input_count,
                                        .ready = program_ready};
    run->is_starting = true;
    start_as_many(run);
    run->is_starting = false;
    if (run->running > 0)
        return 0;
    *fault = run->fault;
    return run->status;
}

size_t test_run_ended(const struct test_run *run)
{
    return run->next - run->running;
}

bool test_run_is_waiting(const struct test_run *run)
{
    for (size_t i = 0; i < run->next; i++)
        if (run->list[i].has_run ||
            (launched_goes_on(&run->list[i].run) && !launched_is_queued(&run->list[i].run)))
            return false;
    return true;
}

void test_run_drop(struct test_run *run)
{
    for (size_t i = 0; run->list != NULL && i < run->set.count; i++) {
        if (launched_goes_on(&run->list[i].run) && !run->launcher->is_released)
            launched_cancel(&run->list[i].run);
        buffer_release(&run->list[i].out);
        buffer_release(&run->list[i].err);
    }
    free(run->list);
    run->list = NULL;
    run_result_release(&run->first);
    run->first = (struct run_result){0};
    kept_snippet_release(&run->kept);
    test_set_release(&run->set);
    compiled_drop(run->share.compiled);
    run->share.compiled = NULL;
}

static void write_text(struct json_writer *writer, const char *key, const struct buffer *text)
{
    json_key(writer, key);
    json_string(writer, text->length > 0 ? text->data : "", text->length);
}

/* Bytes, microseconds, for members that all results have by these names: interpreter/base/result.def. */
static void write_ran(struct json_writer *writer, const struct tested *tested)
{
    json_text_member(writer, "outcome", outcome_name(tested->outcome));
    json_key(writer, "exit_code");
    if (tested->outcome == OUTCOME_EXITED)
        json_number(writer, tested->exit_code);
    else
        json_null(writer);
    json_text_member(writer, "signal", tested->signal != 0 ? signal_name(tested->signal) : NULL);
    write_text(writer, "stdout", &tested->out);
    write_text(writer, "stderr", &tested->err);
    json_number_member(writer, "stdout_cut", (int64_t)(tested->out_bytes - tested->out.length));
    json_number_member(writer, "stderr_cut", (int64_t)(tested->err_bytes - tested->err.length));
    result_json_write_milliseconds(writer, "duration_ms", tested->duration_ns);
    result_json_write_milliseconds(writer, "cpu_ms", tested->cpu_ns);
    json_number_member(writer, "peak_memory_bytes", tested->peak_memory_bytes);
}

static void write_tested(struct json_writer *writer, const struct tested *tested)
{
    bool has_run = tested->has_run && tested->outcome != OUTCOME_COMPILE_FAILED;
    json_begin_object(writer);
    json_boolean_member(writer, "passed", tested->passed);
    if (has_run)
        write_ran(writer, tested);
    else
        json_text_member(writer, "outcome", "not_run");
    json_end_object(writer);
}

static const char *outcome_of(const struct test_run *run)
{
    if (run->has_first && run->first.outcome == OUTCOME_COMPILE_FAILED)
        return outcome_name(OUTCOME_COMPILE_FAILED);
    return run->passed == run->set.count ? "passed" : "failed";
}

void test_run_write(struct json_writer *writer, const struct test_run *run,
                    const struct check *check)
{
    json_text_member(writer, "outcome", outcome_of(run));
    json_number_member(writer, "passed", (int64_t)run->passed);
    json_key(writer, "tests");
    json_begin_array(writer);
    for (size_t i = 0; i < run->set.count; i++)
        write_tested(writer, &run->list[i]);
    json_end_array(writer);
    result_json_write_compile(writer, &run->first);
    json_text_member(writer, "tier", tier_name(run->first.tier));
    json_key(writer, "policy");
    result_json_write_check(writer, check != NULL && check_was_made(check) ? check : NULL);
}
