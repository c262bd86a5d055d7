#include "mcp/http/run_endpoint.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/log.h"
#include "interpreter/rules/findings_text.h"
#include "interpreter/settings/mounts_text.h"
#include "mcp/http/run_answer.h"
#include "mcp/http/run_request.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>

#define JSON_TYPE "application/json"
#define TOOL "run_code" /* in the log */
#define NOTES_MAX (64 * KIBIBYTE)

struct run_post {
    struct http_exchange *exchange;
    struct context *context;
    const struct language *language;
    struct check check; /* before the run, if --policy asks for it */
    struct buffer kept; /* meanwhile: what is read of the request */
    bool is_checking;
    struct json *wanted; /* owned: an array of names of files; NULL: none is wanted */
    struct launched launched; /* while it goes on */
    struct test_run tests; /* the same, if the request has some */
    int64_t began;   /* clock_now() */
};

static void note_not_run(const struct run_post *post, enum not_run reason)
{
    metrics_file_count_not_run(&post->context->metrics, reason);
    log_call(&(struct log_call){TOOL, not_run_words(reason), NULL, clock_now() - post->began});
}

static void answer(struct run_post *post, int r, struct buffer *text)
{
    if (r < 0) {
        buffer_release(text);
        http_exchange_refuse(post->exchange, MHD_HTTP_INTERNAL_SERVER_ERROR,
                             "no memory for the answer");
    } else {
        http_exchange_answer(post->exchange, MHD_HTTP_OK, JSON_TYPE, text);
    }
}

static void answer_not_run(struct run_post *post, const struct fault *fault, enum not_run reason)
{
    struct buffer text = BUFFER(8 * FAULT_TEXT_MAX);
    note_not_run(post, reason);
    answer(post, run_answer_write_fault(fault, &text), &text);
}

/* A hook in a folder of the host runs later, outside of any sandbox. */
static void tell_appeared(const struct run_result *result)
{
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    if (mounts_warn(&result->appeared, RUN_OF_RESULT, &text) == 0 && text.length > 0)
        log_note_lines(buffer_string(&text));
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct run_post *post = data;
    post->launched = (struct launched){0};
    if (status < 0) {
        answer_not_run(post, fault, NOT_RUN_FAILED);
        return;
    }
    struct buffer text = BUFFER(RUN_ANSWER_MAX(result->limits.output_kept));
    metrics_file_count_run(&post->context->metrics, post->language, result);
    log_call(
        &(struct log_call){TOOL, outcome_name(result->outcome), result, clock_now() - post->began});
    tell_appeared(result);
    const struct json_value *wanted = post->wanted != NULL ? json_root(post->wanted) : NULL;
    answer(post, run_answer_write(result, wanted, &text), &text);
}

static void test_ran(struct test_run *tests, const struct run_result *result)
{
    struct run_post *post = container_of(tests, struct run_post, tests);
    metrics_file_count_run(&post->context->metrics, post->language, result);
    tell_appeared(result);
}

static void tests_done(struct test_run *tests, int status, const struct fault *fault)
{
    struct run_post *post = container_of(tests, struct run_post, tests);
    if (status < 0) {
        answer_not_run(post, fault, NOT_RUN_FAILED);
        return;
    }
    struct buffer text = BUFFER(TEST_RUN_MAX(tests->set.count));
    log_call(&(struct log_call){TOOL, "tested", NULL, clock_now() - post->began});
    int r = run_answer_write_tests(tests, &post->check, &text);
    test_run_drop(tests);
    answer(post, r, &text);
}

/* Of the request, only the names of wanted files are kept until the run has ended. */
static int start_program(struct run_post *post, struct run_request *request, struct fault *fault)
{
    const struct run_observer observer = {.done = run_done, .data = post};
    size_t bytes = 0;
    if (request->tests.count > 0) {
        post->tests.ran = test_ran;
        post->tests.done = tests_done;
        if (post->exchange->body.length > 0) /* else what was kept for its check is held */
            http_exchange_hold(post->exchange, post->exchange->body.length);
        return test_run_start(&post->tests, &post->context->launcher, &request->snippet,
                              &request->tests, fault);
    }
    int r = run_request_copy_wanted(request, &post->wanted, &bytes);
    if (r < 0)
        return fault_set(fault, -r, "keeping the names of files: %m");
    http_exchange_hold(post->exchange, bytes);
    return launcher_start(&post->context->launcher, &request->snippet, &observer, &post->launched,
                          fault);
}

/* With what was kept of it. To be released in either case. */
static int read_kept(const struct run_post *post, struct run_request *request, struct fault *fault)
{
    return run_request_read(request, post->context->settings, &post->kept, fault);
}

static int start_checked(struct run_post *post, struct fault *fault)
{
    OWNED(run_request_release) struct run_request request;
    int r = read_kept(post, &request, fault);
    buffer_release(&post->kept);
    return r < 0 ? r : start_program(post, &request, fault);
}

static void refuse_by_rules(struct run_post *post)
{
    OWNED(buffer_release) struct buffer text = BUFFER(NOTES_MAX);
    struct fault fault = {0};
    findings_text_list(&post->check.findings, SEVERITY_REFUSE, "Not run: ", &text);
    const char *lines = buffer_string(&text);
    fault_set(&fault, EPERM, "%s", lines != NULL ? lines : "Not run: the rules refuse it");
    answer_not_run(post, &fault, NOT_RUN_POLICY);
}

static int start_check(struct run_post *post, struct fault *fault);

static void check_done(struct check *check)
{
    struct run_post *post = container_of(check, struct run_post, check);
    struct fault fault = {0};
    post->is_checking = false;
    int r = 0;
    if (check->is_lost)
        r = start_check(post, &fault);
    else if (findings_severity(&check->findings) == SEVERITY_REFUSE)
        refuse_by_rules(post);
    else
        r = start_checked(post, &fault);
    if (r < 0)
        answer_not_run(post, &fault, NOT_RUN_REFUSED);
}

static int start_check(struct run_post *post, struct fault *fault)
{
    OWNED(run_request_release) struct run_request request;
    int r = read_kept(post, &request, fault);
    post->check.done = check_done;
    post->check.held = post->kept.length;
    if (r == 0)
        r = check_begin(&post->check, &post->context->checker, &request.snippet, fault);
    post->is_checking = r == 0;
    return r;
}

static int keep_and_check(struct run_post *post, const struct run_request *request,
                          struct fault *fault)
{
    post->kept = BUFFER(2 * LINE_IN_MAX);
    int r = run_request_write(request, &post->kept);
    http_exchange_hold(post->exchange, post->kept.length);
    return r < 0 ? fault_set(fault, -r, "keeping a request: %m") : start_check(post, fault);
}

void run_endpoint_begin(struct http_exchange *exchange, void *owner)
{
    struct context *context = owner;
    struct fault fault = {0};
    struct run_post *post = calloc(1, sizeof(*post));
    if (post == NULL) {
        http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory: try again");
        return;
    }
    *post = (struct run_post){.exchange = exchange, .context = context, .began = clock_now()};
    exchange->data = post;
    OWNED(run_request_release) struct run_request request;
    int r = run_request_read(&request, context->settings, &exchange->body, &fault);
    post->language = request.snippet.language;
    if (r < 0 && request.json == NULL) {
        note_not_run(post, NOT_RUN_REFUSED);
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "%s", fault.text);
        return;
    }
    if (r == 0)
        r = checker_is_for(&context->checker, post->language)
                ? keep_and_check(post, &request, &fault)
                : start_program(post, &request, &fault);
    if (r < 0)
        answer_not_run(post, &fault, NOT_RUN_REFUSED);
}

void run_endpoint_end(struct http_exchange *exchange, void *owner)
{
    struct run_post *post = exchange->data;
    (void)owner;
    if (post == NULL)
        return;
    exchange->data = NULL;
    const struct launched *launched = &post->launched;
    bool was_running = launched_goes_on(launched) || post->tests.list != NULL;
    bool was_cancelled = was_running || post->is_checking;
    if (launched_goes_on(launched) && !post->context->launcher.is_released)
        launched_cancel(launched);
    test_run_drop(&post->tests);
    check_drop(&post->check);
    findings_release(&post->check.findings);
    if (was_cancelled)
        note_not_run(post, NOT_RUN_CANCELLED);
    buffer_release(&post->kept);
    json_release(&post->wanted);
    free(post);
}
