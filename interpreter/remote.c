#include "interpreter/remote.h"

#include "interpreter/base/bounds.h"
#include "interpreter/settings/settings.h"
#include "interpreter/workers/fleet_answer.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define UNSENT_MAX (32 * MEBIBYTE)
#define LINE_MAX_BYTES (2 * LINE_IN_MAX)

struct remote_run {
    struct remote_run *previous, *next;
    struct remote *remote;
    struct fleet_ticket ticket;
    struct run_observer observer;
};

static void free_run(struct remote_run *run)
{
    LIST_REMOVE(run->remote->first, run);
    run->remote->count--;
    fleet_ticket_drop(&run->ticket);
    free(run);
}

/* The observer may start another run, or end everything: the run is gone before. */
static void fail(struct remote_run *run, int error, const struct fault *fault)
{
    const struct run_observer observer = run->observer;
    free_run(run);
    observer.done(observer.data, -error, NULL, fault);
}

static void take_result(struct remote_run *run, struct run_result *result)
{
    const struct run_observer observer = run->observer;
    free_run(run);
    if (observer.output != NULL) {
        run_observer_show(&observer, OUTPUT_STDOUT, &result->out);
        run_observer_show(&observer, OUTPUT_STDERR, &result->err);
    }
    observer.done(observer.data, 0, result, NULL);
}

static void answered(struct fleet_ticket *ticket, const struct json_value *answer)
{
    struct remote_run *run = container_of(ticket, struct remote_run, ticket);
    OWNED(run_result_release) struct run_result result = {0};
    struct fault fault = {0};
    switch (fleet_answer_read(ticket, answer, &result, &fault)) {
    case FLEET_RAN:
        take_result(run, &result);
        break;
    case FLEET_NOT_RUN:
        fail(run, EIO, &fault);
        break;
    case FLEET_REFUSED:
        fail(run, EAGAIN, &fault);
        break;
    case FLEET_LOST:
        fault_prefix(&fault, "The call is lost");
        fail(run, ECONNRESET, &fault);
        break;
    }
}

static void write_files(struct json_writer *writer, const struct snippet *snippet)
{
    json_key(writer, "files");
    json_begin_array(writer);
    for (size_t i = 0; i < snippet->input_count; i++) {
        const struct run_input *input = &snippet->inputs[i];
        json_begin_object(writer);
        json_text_member(writer, "name", input->name);
        json_key(writer, "base64");
        json_base64(writer, input->bytes, input->length);
        json_end_object(writer);
    }
    json_end_array(writer);
}

/* What only such calls have: stdin of any bytes, and arguments of the program. */
static void write_carried(struct json_writer *writer, const struct snippet *snippet)
{
    const struct run_stdin *source = &snippet->stdin_source;
    json_key(writer, "carry");
    json_begin_object(writer);
    if (source->kind == STDIN_BYTES) {
        json_key(writer, "stdin");
        json_base64(writer, source->bytes, source->length);
    }
    json_key(writer, "arguments");
    json_begin_array(writer);
    for (const char *const *argument = snippet->arguments; argument != NULL && *argument != NULL;
         argument++)
        json_text(writer, *argument);
    json_end_array(writer);
    json_boolean_member(writer, "files", true);
    if (snippet->language->compile != NULL)
        json_number_member(writer, "compile_ms", snippet_compile_ms(snippet));
    json_end_object(writer);
}

static int write_call(const struct remote *remote, const struct snippet *snippet,
                      struct buffer *text)
{
    const struct settings *settings = remote->settings;
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    int64_t wall_ms = snippet->wall_ms;
    if (wall_ms == 0 && settings->limits.wall_ms != RUN_WALL_DEFAULT_MS)
        wall_ms = settings->limits.wall_ms; /* that somebody has set */
    json_begin_object(writer);
    json_text_member(writer, "language", snippet->language->name);
    json_key(writer, "code");
    json_string(writer, snippet->code, snippet->length);
    if (wall_ms > 0) {
        json_key(writer, "timeout_seconds");
        json_double(writer, (double)wall_ms / 1000);
    }
    write_files(writer, snippet);
    write_carried(writer, snippet);
    json_end_object(writer);
    return json_writer_close(writer);
}

static int check_text(const struct snippet *snippet, struct fault *fault)
{
    bool is_text = utf8_valid_length(snippet->code, snippet->length) == snippet->length;
    for (const char *const *argument = snippet->arguments; argument != NULL && *argument != NULL;
         argument++)
        is_text = is_text && utf8_valid_length(*argument, strlen(*argument)) == strlen(*argument);
    return is_text ? 0
                   : fault_set(fault, EILSEQ,
                               "with --workers, the program and its arguments must be UTF-8");
}

/* Another program is started in the place of one that has ended: the broker may be there again. */
static int ensure_link(struct remote *remote, struct fault *fault)
{
    if (remote->is_open && remote->link.is_open)
        return 0;
    if (remote->is_open)
        fleet_link_close(&remote->link);
    remote->is_open = true;
    return fleet_link_open(&remote->link, remote->loop, &remote->settings->fleet, remote->settings,
                           fault);
}

static int send_snippet(struct remote *remote, const struct snippet *snippet,
                        struct remote_run *run, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(LINE_MAX_BYTES);
    int r = write_call(remote, snippet, &text);
    if (r < 0)
        return fault_set(fault, -r, "sending a run to workers: %m");
    return fleet_link_send(&remote->link, &run->ticket, &text, fault);
}

int remote_start(struct remote *remote, const struct snippet *snippet,
                 const struct run_observer *observer, struct remote_run **ret_run,
                 struct fault *fault)
{
    int r = check_text(snippet, fault);
    if (r == 0)
        r = ensure_link(remote, fault);
    if (r < 0)
        return r;
    if (remote->count >= REMOTE_RUNS_MAX || channel_unsent(&remote->link.channel) > UNSENT_MAX) {
        fault_identify(fault, "refused");
        return fault_set(fault, EAGAIN,
                         "too many calls are on the way to workers: try again later");
    }
    struct remote_run *run = calloc(1, sizeof(*run));
    if (run == NULL)
        return fault_set(fault, ENOMEM, "sending a run to workers: %m");
    *run = (struct remote_run){
        .remote = remote,
        .ticket = {.answered = answered},
        .observer = *observer,
    };
    LIST_PREPEND(remote->first, run);
    remote->count++;
    r = send_snippet(remote, snippet, run, fault);
    if (r < 0)
        free_run(run);
    else
        *ret_run = run;
    return r;
}

void remote_cancel(struct remote_run *run)
{
    free_run(run);
}

bool remote_is_queued(const struct remote_run *run)
{
    return !run->ticket.is_taken;
}

void remote_look(const struct remote *remote, struct metrics_now *ret_now)
{
    *ret_now = (struct metrics_now){0};
    for (const struct remote_run *run = remote->first; run != NULL; run = run->next) {
        ret_now->running += run->ticket.is_taken;
        ret_now->queued += !run->ticket.is_taken;
    }
}

void remote_release(struct remote *remote)
{
    if (!remote->is_open)
        return;
    fleet_link_close(&remote->link);
    while (remote->first != NULL)
        free_run(remote->first);
    remote->is_open = false;
}
