#include "mcp/fleet/census.h"

#include "mcp/fleet/lines.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>

#define ANSWER_MAX (64 * 1024)
#define ANSWERS_MAX (4 * 1024 * 1024)
#define WORKERS_MAX 4096

static void write_environments(struct json_writer *writer, const struct broker_options *options)
{
    json_key(writer, "environments");
    json_begin_array(writer);
    for (size_t i = 0; i < options->environment_count; i++) {
        const struct environment_name *environment = &options->environments[i];
        json_begin_object(writer);
        json_text_member(writer, "language", environment->language);
        json_text_member(writer, "image", environment->image);
        json_text_member(writer, "environment", environment->text);
        json_end_object(writer);
    }
    json_end_array(writer);
}

int census_describe(const struct broker_options *options, unsigned places, struct buffer *text)
{
    struct json_writer *writer = NULL;
    *text = BUFFER(ANSWER_MAX);
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_text_member(writer, "name", options->name);
    json_number_member(writer, "places", places);
    write_environments(writer, options);
    json_end_object(writer);
    return json_writer_close(writer);
}

/* The answer comes from outside: untrusted. Where nobody listens, the broker's is empty. */
static void write_answer(struct json_writer *writer, natsMsg *message)
{
    OWNED(json_release) struct json *json = NULL;
    int length = natsMsg_GetDataLength(message);
    if (length > 0 && length <= ANSWER_MAX &&
        json_parse(natsMsg_GetData(message), (size_t)length, &json, NULL) == 0)
        json_copy(writer, json_root(json));
}

static natsStatus ask(struct broker *broker, natsSubscription **ret_answers)
{
    char subject[WIRE_SUBJECT_SIZE];
    natsInbox *inbox = NULL;
    snprintf(subject, sizeof(subject), WIRE_WHO, broker->options->pool, WIRE_ALL);
    natsStatus s = natsInbox_Create(&inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(ret_answers, broker->connection, inbox);
    if (s == NATS_OK)
        s = natsConnection_PublishRequestString(broker->connection, subject, inbox, "");
    natsInbox_Destroy(inbox);
    return s;
}

static void write_workers(struct json_writer *writer, natsSubscription *answers)
{
    int64_t end = clock_now() + WIRE_CENSUS_MS * NANOSECONDS_PER_MILLISECOND;
    int64_t left;
    json_key(writer, "workers");
    json_begin_array(writer);
    for (int count = 0; count < WORKERS_MAX && (left = end - clock_now()) > 0; count++) {
        natsMsg *message = NULL;
        if (natsSubscription_NextMsg(&message, answers, left / NANOSECONDS_PER_MILLISECOND + 1) !=
            NATS_OK)
            break;
        write_answer(writer, message);
        natsMsg_Destroy(message);
    }
    json_end_array(writer);
}

int census_run(struct broker *broker, struct fault *fault)
{
    OWNED(buffer_release) struct buffer line = BUFFER(ANSWERS_MAX);
    natsSubscription *answers = NULL;
    struct json_writer *writer = NULL;
    natsStatus s = ask(broker, &answers);
    int r = s == NATS_OK ? json_writer_open(&line, &writer)
                         : broker_fault(fault, s, "asking for workers");
    if (r == 0) {
        json_begin_object(writer);
        write_environments(writer, broker->options);
        write_workers(writer, answers);
        json_end_object(writer);
        r = json_writer_close(writer);
        if (r < 0)
            fault_set(fault, -r, "listing workers: %m");
    }
    natsSubscription_Destroy(answers);
    if (r == 0)
        lines_write(line.data, line.length);
    return r;
}
