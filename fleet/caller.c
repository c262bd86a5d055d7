#include "fleet/caller.h"

#include "fleet/census.h"
#include "fleet/lines.h"
#include "fleet/publisher.h"
#include "fleet/sent_calls.h"
#include "fleet/watch.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_MS 50
#define READY "{\"ready\":true}"
#define PONG "{\"pong\":true}"

struct caller {
    struct nats_link *broker;
    struct sent_calls calls;
    struct watch watch;
    struct publisher publisher;
    char prefix[WIRE_SUBJECT_SIZE]; /* of the subjects where workers speak, PREFIX.NUMBER */
    natsSubscription *answers;
    bool is_known[ENVIRONMENTS_MAX]; /* a worker has the image */
};

/*
 * A worker asks on the subjects of this front end, and is answered on the one of its question: no other subject,
 * however it came into the message.
 */
static void answer_question(struct caller *caller, uint64_t number, const struct word *word,
                            const char *reply)
{
    const struct nats_link *broker = caller->broker;
    struct question_address question;
    if (reply == NULL || !subject_read_question(reply, broker->options->pool, &question) ||
        strcmp(question.front, broker->user) != 0)
        return;
    const struct report report = {number, question.worker, word};
    enum sent_answer answer = sent_calls_take_word(&caller->calls, &report);
    if (answer != SENT_NOTHING)
        natsConnection_PublishString(broker->connection, reply,
                                     answer == SENT_GO ? WIRE_GO : WIRE_GONE);
}

static void on_answer(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *data)
{
    (void)connection;
    (void)subscription;
    struct caller *caller = data;
    struct word word;
    uint64_t number = subject_read_number(natsMsg_GetSubject(message), caller->prefix);
    bool is_word = number != 0 && word_read(natsMsg_GetData(message),
                                            (size_t)natsMsg_GetDataLength(message), &word);
    if (is_word && (word.kind == WORD_STORED || word.kind == WORD_ABSENT))
        sent_calls_take_word(&caller->calls, &(struct report){.number = number, .word = &word});
    else if (is_word)
        answer_question(caller, number, &word, natsMsg_GetReply(message));
    natsMsg_Destroy(message);
}

static const struct environment_name *find_environment(const struct caller *caller,
                                                       const struct json_value *language)
{
    const struct broker_options *options = caller->broker->options;
    for (size_t i = 0; i < options->environment_count; i++)
        if (json_is(language, options->environments[i].language))
            return &options->environments[i];
    return NULL;
}

/* A broker that has gone just now may come back. */
static bool wait_for_broker(struct caller *caller)
{
    int64_t gone;
    while ((gone = broker_gone_ms(caller->broker)) > 0 && gone < WIRE_RECONNECT_MS)
        broker_pause(PAUSE_MS);
    return gone == 0;
}

/* 0, or a negative errno with a fault: nobody can run it. */
static int ensure_worker(struct caller *caller, const struct environment_name *environment,
                         struct fault *fault)
{
    size_t index = (size_t)(environment - caller->broker->options->environments);
    if (!wait_for_broker(caller))
        return fault_set(fault, ENOTCONN, "no broker at the address of --workers for 10 s");
    if (caller->is_known[index])
        return 0;
    int r = census_ask(caller->broker, environment->text);
    if (r == -ENOENT)
        watch_explain_missing(caller->broker, environment, fault);
    caller->is_known[index] = r == 0;
    return r == -ENOENT ? r : 0;
}

static const char *const not_passed_on[] = {"id", NULL};

static int write_call(const struct json_value *call, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_copy_members(writer, call, not_passed_on);
    json_end_object(writer);
    return json_writer_close(writer);
}

static void send_call(struct caller *caller, uint64_t number,
                      const struct environment_name *environment)
{
    struct fault fault = {0};
    if (ensure_worker(caller, environment, &fault) == 0 &&
        publisher_send(&caller->publisher, number, &fault) == 0)
        return;
    sent_calls_refuse(&caller->calls, number, fault.text);
}

static void cancel(struct caller *caller, uint64_t number)
{
    struct sent_call call;
    if (sent_calls_forget(&caller->calls, number, &call) && call.sent_at != 0 && !call.is_taken)
        publisher_drop(&caller->publisher, number);
}

/* Of the call, with its compiler, or the highest that there is. */
static int64_t wall_ms_of(const struct json_value *call)
{
    int64_t compile_ms = 0;
    json_integer(json_member(json_member(call, "carry"), "compile_ms"), &compile_ms);
    if (compile_ms < 0 || compile_ms > RUN_WALL_MAX_MS)
        compile_ms = RUN_WALL_MAX_MS;
    const struct json_value *seconds = json_member(call, "timeout_seconds");
    double given =
        seconds != NULL && seconds->type == JSON_NUMBER ? strtod(seconds->text, NULL) : 0;
    return given > 0 && given < RUN_WALL_MAX_MS / 1000 ? (int64_t)(given * 1000) + compile_ms
                                                       : RUN_WALL_MAX_MS;
}

static void take_call(struct caller *caller, const struct new_call *call, struct buffer *text)
{
    int written = text->length > 0 ? 0 : -ENOMEM;
    if (sent_calls_add(&caller->calls, call, text) < 0)
        lines_give_up();
    if (call->environment == NULL)
        sent_calls_end(&caller->calls, call->number, "refused",
                       "its image is not here: workers are found by what the image is made of");
    else if (written < 0)
        sent_calls_end(&caller->calls, call->number, "refused", "no memory for it");
    else
        send_call(caller, call->number, call->environment);
}

static void take_line(struct caller *caller, const char *line, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    OWNED(buffer_release) struct buffer text = BUFFER(2 * length);
    int64_t number = 0;
    int r = json_parse(line, length, &json, NULL);
    if (r == -ENOMEM)
        lines_give_up();
    if (r < 0)
        return;
    const struct json_value *call = json_root(json);
    if (json_integer(json_member(call, "cancel"), &number) == 0) {
        cancel(caller, (uint64_t)number);
        return;
    }
    if (json_member(call, "ping") != NULL) {
        lines_write(PONG, strlen(PONG));
        return;
    }
    if (json_integer(json_member(call, "id"), &number) < 0)
        return;
    const struct new_call new = {
        .number = (uint64_t)number,
        .environment = find_environment(caller, json_member(call, "language")),
        .wall_ms = wall_ms_of(call),
    };
    if (write_call(call, &text) < 0)
        buffer_release(&text);
    take_call(caller, &new, &text);
}

/* Nobody waits any more: what no worker has taken is not to run. */
static void cancel_all(struct caller *caller)
{
    struct sent_call call = {0};
    while (sent_calls_next(&caller->calls, call.number, &call))
        cancel(caller, call.number);
}

static int listen_to_workers(struct caller *caller, struct fault *fault)
{
    const struct nats_link *broker = caller->broker;
    char subject[WIRE_SUBJECT_SIZE + 2];
    snprintf(caller->prefix, sizeof(caller->prefix), "csm.front.%s.%s.%s", broker->options->pool,
             broker->user, caller->publisher.instance);
    snprintf(subject, sizeof(subject), "%s.*", caller->prefix);
    natsStatus s =
        natsConnection_Subscribe(&caller->answers, broker->connection, subject, on_answer, caller);
    return s == NATS_OK ? 0 : broker_fault(fault, s, "listening for answers");
}

int caller_run(struct nats_link *broker, struct fault *fault)
{
    /* Threads use it until the process ends. */
    static struct caller caller;
    struct line_reader reader = LINE_READER;
    const char *line = NULL;
    size_t length = 0;
    caller = (struct caller){.broker = broker, .calls = SENT_CALLS};
    caller.watch =
        (struct watch){.broker = broker, .calls = &caller.calls, .publisher = &caller.publisher};
    int r = publisher_open(&caller.publisher, broker, &caller.calls, fault);
    if (r == 0)
        r = listen_to_workers(&caller, fault);
    caller.watch.answers = caller.answers;
    if (r == 0)
        r = watch_start(&caller.watch, fault);
    if (r == 0)
        lines_write(READY, strlen(READY));
    while (r == 0 && lines_next(&reader, &line, &length) > 0)
        take_line(&caller, line, length);
    cancel_all(&caller);
    /* A worker whose part has been taken is still to be told. */
    if (natsSubscription_Drain(caller.answers) == NATS_OK)
        natsSubscription_WaitForDrainCompletion(caller.answers, WIRE_REQUEST_MS);
    natsConnection_FlushTimeout(broker->connection, WIRE_REQUEST_MS);
    return r;
}
