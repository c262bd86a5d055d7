#include "fleet/census.h"

#include "fleet/lines.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <errno.h>
#include <stdio.h>

#define ANSWER_MAX (64 * 1024)
#define ANSWERS_MAX (16 * 1024 * 1024) /* of WORKERS_MAX, as they are written */
#define WORKERS_MAX 4096
#define TEXT_SIZE (WIRE_NAME_MAX + 1)

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

/* The answer comes from outside: untrusted. NULL: it is none. Where nobody listens, the broker's is empty. */
static struct json *parse_answer(natsMsg *message)
{
    struct json *json = NULL;
    int length = natsMsg_GetDataLength(message);
    if (length <= 0 || length > ANSWER_MAX ||
        json_parse(natsMsg_GetData(message), (size_t)length, &json, NULL) < 0)
        return NULL;
    return json;
}

/* A short text without control characters. */
static void copy_text(struct json_writer *writer, const struct json_value *object, const char *name)
{
    char text[TEXT_SIZE];
    const struct json_value *value = json_member(object, name);
    snprintf(text, sizeof(text), "%s",
             value != NULL && value->type == JSON_STRING ? value->text : "");
    utf8_make_plain(text, false);
    json_text_member(writer, name, text);
}

static int64_t read_number(const struct json_value *object, const char *name, int64_t most)
{
    int64_t number = 0;
    return json_integer(json_member(object, name), &number) == 0 && number >= 0 && number <= most
               ? number
               : 0;
}

static void copy_environments(struct json_writer *writer, const struct json_value *environments)
{
    static const char *const members[] = {"language", "image", "environment"};
    size_t count = 0;
    json_key(writer, "environments");
    json_begin_array(writer);
    const struct json_value *item =
        environments != NULL && environments->type == JSON_ARRAY ? environments->first : NULL;
    for (; item != NULL && count < ENVIRONMENTS_MAX; item = item->next, count++) {
        json_begin_object(writer);
        for (size_t i = 0; i < ARRAY_LENGTH(members); i++)
            copy_text(writer, item, members[i]);
        json_end_object(writer);
    }
    json_end_array(writer);
}

/* What doctor asks for, and no more. */
static void write_answer(struct json_writer *writer, natsMsg *message)
{
    OWNED(json_release) struct json *json = parse_answer(message);
    if (json == NULL)
        return;
    const struct json_value *worker = json_root(json);
    json_begin_object(writer);
    copy_text(writer, worker, "name");
    json_number_member(writer, "places", read_number(worker, "places", CENSUS_PLACES_MAX));
    copy_environments(writer, json_member(worker, "environments"));
    json_end_object(writer);
}

/* Each question has a subject of its own, so that no late answer is taken for one to another. */
static natsStatus ask(struct nats_link *broker, const char *environment,
                      natsSubscription **ret_answers)
{
    struct call_address address = {.number = 1};
    char subject[WIRE_SUBJECT_SIZE], reply[WIRE_SUBJECT_SIZE];
    snprintf(address.environment, sizeof(address.environment), "%s", environment);
    snprintf(address.front, sizeof(address.front), "%s", broker->user);
    if (subject_make_id(address.instance) < 0)
        return NATS_ERR;
    subject_write_call(WIRE_WHO, broker->options->pool, &address, subject);
    subject_write_front(broker->options->pool, &address, reply);
    natsStatus s = natsConnection_SubscribeSync(ret_answers, broker->connection, reply);
    if (s == NATS_OK)
        s = natsConnection_PublishRequestString(broker->connection, subject, reply, "");
    return s;
}

static bool is_answer(natsMsg *message)
{
    OWNED(json_release) struct json *json = parse_answer(message);
    return json != NULL && json_member(json_root(json), "places") != NULL;
}

int census_ask(struct nats_link *broker, const char *environment)
{
    natsSubscription *answers = NULL;
    int64_t end = clock_now() + WIRE_REQUEST_MS * NANOSECONDS_PER_MILLISECOND;
    int64_t left;
    natsStatus s = ask(broker, environment, &answers);
    int r = -ETIMEDOUT;
    while (s == NATS_OK && r == -ETIMEDOUT && (left = end - clock_now()) > 0) {
        natsMsg *message = NULL;
        s = natsSubscription_NextMsg(&message, answers, left / NANOSECONDS_PER_MILLISECOND + 1);
        if (s == NATS_NO_RESPONDERS || (s == NATS_OK && natsMsg_IsNoResponders(message)))
            r = -ENOENT;
        else if (s == NATS_OK && is_answer(message))
            r = 0;
        natsMsg_Destroy(message);
    }
    natsSubscription_Destroy(answers);
    return r;
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

int census_run(struct nats_link *broker, struct fault *fault)
{
    OWNED(buffer_release) struct buffer line = BUFFER(ANSWERS_MAX);
    natsSubscription *answers = NULL;
    struct json_writer *writer = NULL;
    natsStatus s = ask(broker, WIRE_ALL, &answers);
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
