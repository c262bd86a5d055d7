#include "mcp/extension/program_tests.h"

#include "interpreter/base/log.h"
#include "interpreter/cases/test_run.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/settings/mounts_text.h"
#include "mcp/extension/session_request.h"
#include "mcp/tools/call_progress.h"
#include "mcp/tools/code_arguments.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define METHOD "test" /* in the log */
#define PROGRESS_SIZE 80
#define NOTES_MAX (64 * KIBIBYTE)

struct tests_call {
    struct open_request open;
    struct context *context;
    struct reply reply;
    const struct language *language;
    struct kept_snippet kept; /* with the set, until the tests begin */
    struct test_set set;
    struct check check; /* before them, if --policy asks for it */
    struct test_run tests;
    struct call_progress progress;
    char ended[PROGRESS_SIZE]; /* what that says */
    int64_t began; /* clock_now() */
};

/* Its answer must have been given or dropped. */
static void end_call(struct tests_call *call)
{
    call_progress_close(&call->progress);
    open_requests_remove(&call->context->requests, &call->open);
    check_drop(&call->check);
    findings_release(&call->check.findings);
    test_run_drop(&call->tests);
    test_set_release(&call->set);
    kept_snippet_release(&call->kept);
    free(call);
}

static void note_end(const struct tests_call *call, const char *outcome)
{
    log_call(&(struct log_call){
        .tool = METHOD, .outcome = outcome, .total_ns = clock_now() - call->began});
}

static void fail(struct tests_call *call, int status, const struct fault *fault,
                 enum not_run reason)
{
    metrics_file_count_not_run(&call->context->metrics, reason);
    note_end(call, not_run_words(reason));
    session_request_refuse(&call->reply, status, fault);
    end_call(call);
}

static void cancel(struct open_request *open)
{
    struct tests_call *call = container_of(open, struct tests_call, open);
    metrics_file_count_not_run(&call->context->metrics, NOT_RUN_CANCELLED);
    note_end(call, not_run_words(NOT_RUN_CANCELLED));
    rpc_answer_drop(open->answer);
    end_call(call);
}

/* A hook in a folder of the host runs later, outside of any sandbox. */
static void test_ran(struct test_run *tests, const struct run_result *result)
{
    struct tests_call *call = container_of(tests, struct tests_call, tests);
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    metrics_file_count_run(&call->context->metrics, call->language, result);
    if (mounts_warn(&result->appeared, RUN_OF_RESULT, &text) == 0 && text.length > 0)
        log_note_lines(buffer_string(&text));
}

static void write_tests(struct json_writer *writer, enum version version, const void *data)
{
    (void)version;
    const struct tests_call *call = data;
    test_run_write(writer, &call->tests, &call->check);
    json_text_member(writer, "image", settings_image(call->context->settings, call->language));
}

static void tests_done(struct test_run *tests, int status, const struct fault *fault)
{
    struct tests_call *call = container_of(tests, struct tests_call, tests);
    if (status < 0) {
        fail(call, status, fault, NOT_RUN_FAILED);
        return;
    }
    note_end(call, "tested");
    call_progress_close(&call->progress);
    reply_result(&call->reply, &(struct result_body){.write = write_tests, .data = call});
    end_call(call);
}

static int start_tests(struct tests_call *call, struct fault *fault)
{
    call->tests.ran = test_ran;
    call->tests.done = tests_done;
    return test_run_start(&call->tests, &call->context->launcher, &call->kept.snippet, &call->set,
                          fault);
}

static void refuse_by_rules(struct tests_call *call)
{
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    struct fault fault = {.id = "policy"};
    findings_text_list(&call->check.findings, SEVERITY_REFUSE, "Not run: ", &text);
    const char *lines = buffer_string(&text);
    fault_set(&fault, EPERM, "%s", lines != NULL ? lines : "Not run: the rules refuse it");
    fail(call, -EPERM, &fault, NOT_RUN_POLICY);
}

static int start_check(struct tests_call *call, struct fault *fault);

static void check_done(struct check *check)
{
    struct tests_call *call = container_of(check, struct tests_call, check);
    struct fault fault = {0};
    int r = 0;
    if (check->is_lost)
        r = start_check(call, &fault);
    else if (findings_severity(&check->findings) == SEVERITY_REFUSE)
        refuse_by_rules(call);
    else
        r = start_tests(call, &fault);
    if (r < 0)
        fail(call, r, &fault, NOT_RUN_REFUSED);
}

static int start_check(struct tests_call *call, struct fault *fault)
{
    call->check.done = check_done;
    return check_begin(&call->check, &call->context->checker, &call->kept.snippet, fault);
}

/* Keeps all that the request has. */
static int read_call(struct tests_call *call, const struct json_value *params, struct fault *fault)
{
    static const char *const others[] = {"language", "tests", "compare", "stop_at_first_failure",
                                         "parallel", "_meta", NULL};
    OWNED(code_arguments_release) struct code_arguments arguments = {0};
    call->language = session_request_language(params, fault);
    if (call->language == NULL)
        return -EINVAL;
    struct tool tool = *tool_list_find_language(call->language);
    tool.name = "code-sandbox/test";
    const struct code_arguments_form form = {&tool, call->context->settings, others};
    int r = code_arguments_read(&arguments, &form, params, fault);
    if (r == 0 && arguments.session != NULL)
        r = fault_set(fault, EINVAL,
                      "tests have no session: each begins anew, leave \"session\" out");
    if (r == 0)
        r = test_set_read(params, &call->set, fault);
    if (r == 0 && call->set.count == 0)
        r = fault_set(fault, EINVAL, "the parameter \"tests\" is missing");
    if (r < 0)
        return r;
    arguments.snippet.language = call->language;
    r = kept_snippet_make(&arguments.snippet, &call->kept);
    return r < 0 ? fault_set(fault, -r, "keeping a program: %m") : 0;
}

static int begin(struct tests_call *call, const struct json_value *params, struct fault *fault)
{
    int r = read_call(call, params, fault);
    if (r < 0) {
        fault_identify(fault, "invalid_parameter");
        return r;
    }
    return checker_is_for(&call->context->checker, call->language) ? start_check(call, fault)
                                                                   : start_tests(call, fault);
}

static const char *tell_ended(const void *data)
{
    struct tests_call *call = (struct tests_call *)data;
    if (call->tests.list == NULL)
        return "checking the program";
    snprintf(call->ended, sizeof(call->ended), "%zu of %zu tests have ended",
             test_run_ended(&call->tests), call->tests.set.count);
    return call->ended;
}

static void open_progress(struct tests_call *call, const struct json_value *params)
{
    const struct json_value *meta = json_member(params, "_meta");
    call_progress_open(&call->progress, &call->context->loop, &call->reply,
                       json_member(meta, "progressToken"));
    call->progress.why_waiting = tell_ended;
    call->progress.data = call;
}

void program_tests_answer(struct context *context, const struct rpc_message *message,
                          const struct reply *reply)
{
    struct fault fault = {0};
    struct tests_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        fault_set(&fault, ENOMEM, "starting tests: %m");
        session_request_refuse(reply, -ENOMEM, &fault);
        return;
    }
    *call = (struct tests_call){
        .open = {.answer = reply->answer, .cancel = cancel},
        .context = context,
        .reply = *reply,
        .began = clock_now(),
    };
    open_requests_add(&context->requests, &call->open);
    open_progress(call, message->params);
    int r = begin(call, message->params, &fault);
    if (r < 0)
        fail(call, r, &fault, NOT_RUN_REFUSED);
}
