#include "mcp/fleet/queue.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>

static natsStatus add_stream(struct broker *broker)
{
    char subject[WIRE_SUBJECT_SIZE];
    const char *subjects[] = {subject};
    jsStreamConfig configuration;
    jsStreamConfig_Init(&configuration);
    snprintf(subject, sizeof(subject), WIRE_RUN, broker->options->pool, "*");
    configuration.Name = broker->stream_name;
    configuration.Subjects = subjects;
    configuration.SubjectsLen = ARRAY_LENGTH(subjects);
    configuration.Retention = js_WorkQueuePolicy;
    configuration.Storage = js_MemoryStorage;
    configuration.Discard = js_DiscardNew;
    configuration.MaxMsgs = WIRE_QUEUE_MAX;
    configuration.MaxAge = WIRE_QUEUE_AGE_S * NANOSECONDS_PER_SECOND;
    jsStreamInfo *information = NULL;
    static const jsErrCode none; /* zero, which has no name */
    jsErrCode code = none;
    natsStatus s = js_AddStream(&information, broker->stream, &configuration, NULL, &code);
    jsStreamInfo_Destroy(information);
    /* An operator may have made it with bounds of their own. */
    return code == JSStreamNameExistErr ? NATS_OK : s;
}

int queue_ensure(struct broker *broker, struct fault *fault)
{
    natsStatus s = add_stream(broker);
    if (s == NATS_OK)
        return 0;
    if (s == NATS_NO_RESPONDERS)
        return fault_set(fault, ENOTSUP,
                         "the broker has no JetStream: start nats-server with -js, or with "
                         "jetstream {} in its configuration");
    return broker_fault(fault, s, "making the queue of the pool");
}

static natsStatus add_consumer(struct broker *broker, const char *name, const char *subject)
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

natsStatus queue_subscribe(struct broker *broker, const struct environment_name *environment,
                           natsSubscription **ret_subscription)
{
    char subject[WIRE_SUBJECT_SIZE];
    snprintf(subject, sizeof(subject), WIRE_RUN, broker->options->pool, environment->text);
    natsStatus s = add_stream(broker);
    if (s == NATS_OK)
        s = add_consumer(broker, environment->text, subject);
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Stream = broker->stream_name;
    options.Consumer = environment->text;
    if (s == NATS_OK)
        s = js_PullSubscribe(ret_subscription, broker->stream, subject, environment->text, NULL,
                             &options, NULL);
    return s;
}

void queue_acknowledge(struct broker *broker, const char *subject, const char *what)
{
    natsConnection_PublishString(broker->connection, subject, what);
}

unsigned queue_deliveries(const char *subject)
{
    unsigned count = 0; /* $JS.ACK.STREAM.CONSUMER.COUNT...: no name has a dot in it */
    return sscanf(subject, "$JS.ACK.%*[^.].%*[^.].%u.", &count) == 1 ? count : 0;
}

void queue_delete(struct broker *broker, uint64_t sequence, int64_t stored_at)
{
    if (stored_at > broker_reconnected_at(broker))
        js_DeleteMsg(broker->stream, broker->stream_name, sequence, NULL, NULL);
}
