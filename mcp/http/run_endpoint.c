#include "mcp/http/run_endpoint.h"

#include "mcp/base/bounds.h"
#include "mcp/base/log.h"
#include "mcp/http/run_answer.h"
#include "mcp/http/run_request.h"
#include "mcp/rules/findings_text.h"
#include "mcp/settings/mounts_text.h"
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
    struct run_request request;
    struct check check; /* before the run, if --policy asks for it */
    bool is_checking;
    struct launched launched; /* while it goes on */
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
    if (mounts_warn(&result->appeared, &text) == 0 && text.length > 0)
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
    metrics_file_count_run(&post->context->metrics, post->request.snippet.language, result);
    log_call(
        &(struct log_call){TOOL, outcome_name(result->outcome), result, clock_now() - post->began});
    tell_appeared(result);
    answer(post, run_answer_write(result, post->request.wanted, &text), &text);
}

static int start_program(struct run_post *post, struct fault *fault)
{
    const struct run_observer observer = {.done = run_done, .data = post};
    return launcher_start(&post->context->launcher, &post->request.snippet, &observer,
                          &post->launched, fault);
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
        r = start_program(post, &fault);
    if (r < 0)
        answer_not_run(post, &fault, NOT_RUN_REFUSED);
}

static int start_check(struct run_post *post, struct fault *fault)
{
    post->check.done = check_done;
    int r = check_begin(&post->check, &post->context->checker, &post->request.snippet, fault);
    post->is_checking = r == 0;
    return r;
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
    int r = run_request_read(&post->request, context->settings, &exchange->body, &fault);
    if (r < 0 && post->request.json == NULL) {
        note_not_run(post, NOT_RUN_REFUSED);
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "%s", fault.text);
        return;
    }
    if (r == 0)
        r = checker_is_for(&context->checker, post->request.snippet.language)
                ? start_check(post, &fault)
                : start_program(post, &fault);
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
    bool was_running = launched->run != NULL || launched->remote != NULL;
    bool was_cancelled = was_running || post->is_checking;
    if (was_running && !post->context->launcher.is_released)
        launched_cancel(launched);
    check_drop(&post->check);
    findings_release(&post->check.findings);
    if (was_cancelled)
        note_not_run(post, NOT_RUN_CANCELLED);
    run_request_release(&post->request);
    free(post);
}
