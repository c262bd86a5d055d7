#include "fleet/queue.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ACKNOWLEDGE "$JS.ACK."

/* Every call of the pool, or of an environment. */
static void write_subject(const struct nats_link *broker, const char *environment,
                          char subject[static WIRE_SUBJECT_SIZE])
{
    snprintf(subject, WIRE_SUBJECT_SIZE, "csm." WIRE_RUN ".%s.%s.*.*.*", broker->options->pool,
             environment);
}

/* As add_stream() makes it, whatever its bounds. */
static bool is_ours(const jsStreamConfig *configuration, const char *subject)
{
    return configuration->SubjectsLen == 1 && strcmp(configuration->Subjects[0], subject) == 0 &&
           configuration->Retention == js_WorkQueuePolicy && configuration->NoAck &&
           configuration->Mirror == NULL && configuration->SourcesLen == 0 &&
           configuration->RePublish == NULL;
}

/* An operator may have made it with bounds of their own. NATS_INVALID_ARG: with other settings, too. */
static natsStatus look_at_stream(struct nats_link *broker, const char *subject)
{
    jsStreamInfo *information = NULL;
    natsStatus s = js_GetStreamInfo(&information, broker->stream, broker->stream_name, NULL, NULL);
    if (s == NATS_OK && (information->Config == NULL || !is_ours(information->Config, subject)))
        s = NATS_INVALID_ARG;
    jsStreamInfo_Destroy(information);
    return s;
}

static natsStatus add_stream(struct nats_link *broker)
{
    char subject[WIRE_SUBJECT_SIZE];
    const char *subjects[] = {subject};
    jsStreamConfig configuration;
    jsStreamConfig_Init(&configuration);
    write_subject(broker, "*", subject);
    configuration.Name = broker->stream_name;
    configuration.Subjects = subjects;
    configuration.SubjectsLen = ARRAY_LENGTH(subjects);
    configuration.Retention = js_WorkQueuePolicy;
    configuration.Storage = js_MemoryStorage;
    configuration.Discard = js_DiscardNew;
    configuration.MaxMsgs = WIRE_QUEUE_MAX;
    configuration.NoAck = true;
    configuration.MaxAge = WIRE_QUEUE_AGE_S * NANOSECONDS_PER_SECOND;
    jsStreamInfo *information = NULL;
    static const jsErrCode none; /* zero, which has no name */
    jsErrCode code = none;
    natsStatus s = js_AddStream(&information, broker->stream, &configuration, NULL, &code);
    jsStreamInfo_Destroy(information);
    return code == JSStreamNameExistErr ? look_at_stream(broker, subject) : s;
}

int queue_ensure(struct nats_link *broker, struct fault *fault)
{
    natsStatus s = add_stream(broker);
    if (s == NATS_OK)
        return 0;
    if (s == NATS_NO_RESPONDERS)
        return fault_set(fault, ENOTSUP,
                         "the broker has no JetStream: start nats-server with -js, or with "
                         "jetstream {} in its configuration");
    if (s == NATS_INVALID_ARG)
        return fault_set(
            fault, EEXIST,
            "the stream %s has other settings than a queue of calls needs (a work queue of "
            "csm.run.%s.*.*.*.*, without acknowledgments): delete it, so that a worker "
            "makes it anew",
            broker->stream_name, broker->options->pool);
    return broker_fault(fault, s, "making the queue of the pool");
}

static natsStatus add_consumer(struct nats_link *broker, const char *name, const char *subject)
{
    jsConsumerConfig configuration;
    jsConsumerConfig_Init(&configuration);
    configuration.Durable = name;
    configuration.FilterSubject = subject;
    configuration.AckPolicy = js_AckExplicit;
    configuration.AckWait = WIRE_ACK_WAIT_S * NANOSECONDS_PER_SECOND;
    configuration.MaxAckPending = WIRE_QUEUE_MAX;
    jsConsumerInfo *information = NULL;
    natsStatus s = js_AddConsumer(&information, broker->stream, broker->stream_name, &configuration,
                                  NULL, NULL);
    jsConsumerInfo_Destroy(information);
    return s;
}

natsStatus queue_ensure_consumer(struct nats_link *broker,
                                 const struct environment_name *environment)
{
    char subject[WIRE_SUBJECT_SIZE];
    write_subject(broker, environment->text, subject);
    natsStatus s = add_stream(broker);
    return s == NATS_OK ? add_consumer(broker, environment->text, subject) : s;
}

natsStatus queue_request(struct nats_link *broker, const struct environment_name *environment,
                         const char *inbox, int64_t milliseconds)
{
    char subject[WIRE_SUBJECT_SIZE], request[64];
    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%s", broker->stream_name,
             environment->text);
    snprintf(request, sizeof(request), "{\"batch\":1,\"expires\":%" PRId64 "}",
             milliseconds * NANOSECONDS_PER_MILLISECOND);
    return natsConnection_PublishRequestString(broker->connection, subject, inbox, request);
}

/* $JS.ACK.STREAM.CONSUMER.DELIVERIES.... Source: JetStream, model deep dive, acknowledgments. */
unsigned queue_deliveries(const struct nats_link *broker, natsMsg *message)
{
    const char *reply = natsMsg_GetReply(message);
    size_t prefix = strlen(ACKNOWLEDGE), name = strlen(broker->stream_name);
    unsigned count = 0;
    if (reply == NULL || strncmp(reply, ACKNOWLEDGE, prefix) != 0 ||
        strlen(reply) >= WIRE_SUBJECT_SIZE ||
        strncmp(reply + prefix, broker->stream_name, name) != 0)
        return 0;
    return sscanf(reply + prefix + name, ".%*[^.].%u.", &count) == 1 ? count : 0;
}

void queue_acknowledge(struct nats_link *broker, const char *subject, const char *what)
{
    natsConnection_PublishString(broker->connection, subject, what);
}

/* In any environment: a front end need not say in which. */
static void write_any(const struct nats_link *broker, const struct call_address *address,
                      char subject[static WIRE_SUBJECT_SIZE])
{
    struct call_address of_any = *address;
    snprintf(of_any.environment, sizeof(of_any.environment), "*");
    subject_write_call(WIRE_RUN, broker->options->pool, &of_any, subject);
}

int queue_find(struct nats_link *broker, const struct call_address *address, bool *ret_is_stored,
               uint64_t *ret_most)
{
    char subject[WIRE_SUBJECT_SIZE];
    jsOptions options;
    jsStreamInfo *information = NULL;
    jsOptions_Init(&options);
    write_any(broker, address, subject);
    options.Stream.Info.SubjectsFilter = subject;
    natsStatus s =
        js_GetStreamInfo(&information, broker->stream, broker->stream_name, &options, NULL);
    bool is_known = s == NATS_OK && information->Config != NULL;
    if (is_known) {
        const jsStreamStateSubjects *subjects = information->State.Subjects;
        int64_t most = information->Config->MaxMsgs;
        *ret_is_stored = subjects != NULL && subjects->Count > 0;
        *ret_most = most > 0 && most < WIRE_COUNT_MAX ? (uint64_t)most : 0;
    }
    jsStreamInfo_Destroy(information);
    return is_known ? 0 : -EIO;
}

void queue_drop(struct nats_link *broker, const struct call_address *address)
{
    char subject[WIRE_SUBJECT_SIZE];
    jsOptions options;
    jsOptions_Init(&options);
    write_any(broker, address, subject);
    options.Stream.Purge.Subject = subject;
    js_PurgeStream(broker->stream, broker->stream_name, &options, NULL);
}
