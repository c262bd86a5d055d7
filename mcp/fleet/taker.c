#include "mcp/fleet/taker.h"

#include "mcp/base/log.h"
#include "mcp/fleet/census.h"
#include "mcp/fleet/lines.h"
#include "mcp/fleet/queue.h"
#include "mcp/fleet/taken_call.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FETCH_MS 1000
#define PAUSE_MS 100 /* after an error of the broker */
#define FETCHES_MAX 10 /* without a message, until the consumer is looked at */

/* One environment's calls, by a thread of its own. */
struct fetcher {
    struct taken_calls *calls;
    const struct environment_name *environment;
    pthread_t thread;
};

static void take(struct taken_calls *calls, natsMsg *message)
{
    if (taken_calls_reserve(calls))
        taken_call_begin(calls, message);
    else /* for another worker, or for this one when it has a place */
        queue_acknowledge(calls->broker, natsMsg_GetReply(message), QUEUE_AGAIN);
}

static void *fetch(void *data)
{
    struct fetcher *fetcher = data;
    struct taken_calls *calls = fetcher->calls;
    natsSubscription *subscription = NULL;
    int64_t subscribed_at = 0; /* the reconnection before it */
    unsigned fetches = 0;      /* in vain */
    while (taken_calls_wait_for_place(calls)) {
        natsMsgList list = {0};
        natsStatus s = NATS_OK;
        int64_t reconnected_at = broker_reconnected_at(calls->broker);
        if (reconnected_at != subscribed_at || fetches > FETCHES_MAX) {
            natsSubscription_Destroy(subscription); /* of a consumer that may be gone */
            subscription = NULL;
            fetches = 0;
        }
        subscribed_at = reconnected_at;
        if (subscription == NULL)
            s = queue_subscribe(calls->broker, fetcher->environment, &subscription);
        if (s == NATS_OK)
            s = natsSubscription_Fetch(&list, subscription, 1, FETCH_MS, NULL);
        fetches = list.Count > 0 ? 0 : fetches + 1;
        for (int i = 0; i < list.Count; i++)
            take(calls, list.Msgs[i]);
        natsMsgList_Destroy(&list);
        if (s == NATS_OK || s == NATS_TIMEOUT)
            continue;
        /* The broker is gone, or has been started anew without its queue. */
        natsSubscription_Destroy(subscription);
        subscription = NULL;
        broker_pause(PAUSE_MS);
    }
    natsSubscription_Destroy(subscription);
    return NULL;
}

/* A line of the process that started us: a result, or the wish to stop. True: to stop. */
static bool take_line(struct taken_calls *calls, const char *line, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    int64_t number = 0;
    if (json_parse(line, length, &json, NULL) < 0)
        return false;
    if (json_member(json_root(json), "drain") != NULL)
        return true;
    if (json_integer(json_member(json_root(json), "id"), &number) == 0)
        taken_calls_answer(calls, (uint64_t)number, line, length);
    return false;
}

static int read_lines(struct taken_calls *calls, bool *ret_drain)
{
    struct line_reader reader = LINE_READER;
    const char *line = NULL;
    size_t length = 0;
    int r;
    *ret_drain = false;
    while (!*ret_drain && (r = lines_next(&reader, &line, &length)) > 0)
        *ret_drain = take_line(calls, line, length);
    return 0;
}

/* Results of runs that end while others are waited for. */
static void *read_while_draining(void *data)
{
    bool drain;
    read_lines(data, &drain);
    taken_calls_stop(data);
    return NULL;
}

static void say_who(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *data)
{
    (void)subscription;
    const struct broker *broker = data;
    if (natsMsg_GetReply(message) != NULL)
        natsConnection_PublishString(connection, natsMsg_GetReply(message), broker->options->name);
    natsMsg_Destroy(message);
}

/* A broker that was started anew has no queue, which front ends need before this worker has a place. */
static void *keep_queue(void *data)
{
    struct broker *broker = data;
    int64_t kept_at = 0;
    for (;;) {
        int64_t reconnected_at = broker_reconnected_at(broker);
        if (reconnected_at != kept_at && queue_ensure(broker, NULL) == 0)
            kept_at = reconnected_at;
        broker_pause(PAUSE_MS);
    }
    return NULL;
}

struct presence {
    natsSubscription *list[ENVIRONMENTS_MAX];
    natsSubscription *all;
};

struct description {
    struct buffer text;
};

static void say_all(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *data)
{
    (void)subscription;
    const struct description *description = data;
    if (natsMsg_GetReply(message) != NULL)
        natsConnection_Publish(connection, natsMsg_GetReply(message), description->text.data,
                               (int)description->text.length);
    natsMsg_Destroy(message);
}

static natsStatus describe_to_all(struct presence *presence, struct broker *broker, unsigned places)
{
    /* Threads may use it until the process ends. */
    static struct description description;
    char subject[WIRE_SUBJECT_SIZE];
    if (census_describe(broker->options, places, &description.text) < 0)
        return NATS_NO_MEMORY;
    snprintf(subject, sizeof(subject), WIRE_WHO, broker->options->pool, WIRE_ALL);
    return natsConnection_Subscribe(&presence->all, broker->connection, subject, say_all,
                                    &description);
}

static int presence_open(struct presence *presence, struct broker *broker, unsigned places,
                         struct fault *fault)
{
    const struct broker_options *options = broker->options;
    natsStatus described = describe_to_all(presence, broker, places);
    if (described != NATS_OK)
        return broker_fault(fault, described, "telling the pool of this worker");
    for (size_t i = 0; i < options->environment_count; i++) {
        char subject[WIRE_SUBJECT_SIZE];
        snprintf(subject, sizeof(subject), WIRE_WHO, options->pool, options->environments[i].text);
        natsStatus s = natsConnection_Subscribe(&presence->list[i], broker->connection, subject,
                                                say_who, broker);
        if (s != NATS_OK)
            return broker_fault(fault, s, "telling the pool of this worker");
    }
    return 0;
}

static void presence_close(struct presence *presence)
{
    for (size_t i = 0; i < ENVIRONMENTS_MAX; i++)
        natsSubscription_Destroy(presence->list[i]);
    natsSubscription_Destroy(presence->all);
    *presence = (struct presence){0};
}

/* Waits for the runs that go on, and says of the others that they are lost. */
static void drain(struct taken_calls *calls)
{
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_while_draining, calls) == 0) {
        pthread_detach(reader);
        taken_calls_wait_for_all(calls, WIRE_DRAIN_MS);
    }
    taken_calls_lose(calls, "its worker was told to stop");
}

static int start_fetchers(struct fetcher *fetchers, struct taken_calls *calls, struct fault *fault)
{
    const struct broker_options *options = calls->broker->options;
    pthread_t keeper;
    int e = pthread_create(&keeper, NULL, keep_queue, calls->broker);
    if (e != 0)
        return fault_set(fault, e, "starting a thread: %m");
    for (size_t i = 0; i < options->environment_count; i++) {
        fetchers[i] = (struct fetcher){.calls = calls, .environment = &options->environments[i]};
        int error = pthread_create(&fetchers[i].thread, NULL, fetch, &fetchers[i]);
        if (error != 0)
            return fault_set(fault, error, "starting a thread: %m");
    }
    return 0;
}

int taker_run(struct broker *broker, unsigned places, struct fault *fault)
{
    /* Threads may use it until the process ends. */
    static struct taken_calls calls;
    static struct fetcher fetchers[ENVIRONMENTS_MAX];
    OWNED(presence_close) struct presence presence = {0};
    bool is_drained = false;
    int r = taken_calls_open(&calls, broker, places, fault);
    if (r == 0)
        r = queue_ensure(broker, fault);
    if (r == 0)
        r = presence_open(&presence, broker, places, fault);
    if (r == 0)
        r = start_fetchers(fetchers, &calls, fault);
    if (r < 0)
        return r;
    for (size_t i = 0; i < broker->options->environment_count; i++)
        log_note("worker %s: %u places in the pool %s for %s (image %s)", broker->options->name,
                 places, broker->options->pool, broker->options->environments[i].text,
                 broker->options->environments[i].image);
    read_lines(&calls, &is_drained);
    presence_close(&presence);
    taken_calls_close_places(&calls);
    if (is_drained)
        drain(&calls);
    else
        taken_calls_lose(&calls, "its worker has ended");
    taken_calls_wait_for_all(&calls, WIRE_REQUEST_MS); /* for results on their way */
    natsConnection_FlushTimeout(broker->connection, WIRE_REQUEST_MS);
    return is_drained ? 0 : fault_set(fault, EPIPE, "the worker has ended");
}
