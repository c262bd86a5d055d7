#include "fleet/taker.h"

#include "fleet/answer_rate.h"
#include "fleet/census.h"
#include "fleet/lines.h"
#include "fleet/queue.h"
#include "fleet/taken_call.h"
#include "interpreter/base/log.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FETCH_MS 1000
#define PAUSE_MS 100 /* after an error of the broker */
#define FETCHES_MAX 10 /* without a message, until the consumer is looked at */

/* A front end asks again. It asks who is there at most once a second, and of each call, up to 256, twice a second. */
static const struct answer_bound who_of_front = {20, 20}, who_of_all = {100, 100};
static const struct answer_bound calls_of_front = {512, 50}, calls_of_all = {2048, 200};

/* What has become of the last request of a fetcher. */
enum fetched { FETCH_WAITS, FETCH_CALL, FETCH_NOTHING, FETCH_FAILED };

/* One environment's calls, by a thread of its own. It stays where it is. */
struct fetcher {
    struct taken_calls *calls;
    const struct environment_name *environment;
    char inbox[WIRE_SUBJECT_SIZE]; /* where calls come to; nobody but the broker knows it */
    natsSubscription *subscription;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum fetched fetched;
    pthread_t thread;
};

static void take(struct taken_calls *calls, natsMsg *message)
{
    if (taken_calls_reserve(calls))
        taken_call_begin(calls, message);
    else if (queue_deliveries(calls->broker, message) > 0)
        /* for another worker, or for this one when it has a place */
        queue_acknowledge(calls->broker, natsMsg_GetReply(message), QUEUE_AGAIN);
}

/* The broker's own word is on the subject of the inbox: that there was no call in time, or that it has no queue. */
static enum fetched read_status(natsMsg *message)
{
    const char *status = NULL;
    bool is_in_vain = natsMsgHeader_Get(message, "Status", &status) == NATS_OK &&
                      (strcmp(status, "404") == 0 || strcmp(status, "408") == 0);
    return is_in_vain ? FETCH_NOTHING : FETCH_FAILED;
}

static void on_fetched(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *data)
{
    (void)connection;
    (void)subscription;
    struct fetcher *fetcher = data;
    enum fetched fetched = FETCH_CALL;
    if (strcmp(natsMsg_GetSubject(message), fetcher->inbox) == 0)
        fetched = read_status(message);
    else
        take(fetcher->calls, message);
    natsMsg_Destroy(message);
    pthread_mutex_lock(&fetcher->mutex);
    fetcher->fetched = fetched;
    pthread_cond_broadcast(&fetcher->changed);
    pthread_mutex_unlock(&fetcher->mutex);
}

/* Asks for a call and waits for what comes. FETCH_WAITS: nothing has come. */
static enum fetched fetch_one(struct fetcher *fetcher)
{
    int64_t deadline = clock_now() + (FETCH_MS + PAUSE_MS) * NANOSECONDS_PER_MILLISECOND;
    const struct timespec at = {deadline / NANOSECONDS_PER_SECOND,
                                deadline % NANOSECONDS_PER_SECOND};
    pthread_mutex_lock(&fetcher->mutex);
    fetcher->fetched = FETCH_WAITS;
    natsStatus s =
        queue_request(fetcher->calls->broker, fetcher->environment, fetcher->inbox, FETCH_MS);
    while (s == NATS_OK && fetcher->fetched == FETCH_WAITS && clock_now() < deadline)
        pthread_cond_timedwait(&fetcher->changed, &fetcher->mutex, &at);
    enum fetched fetched = s == NATS_OK ? fetcher->fetched : FETCH_FAILED;
    pthread_mutex_unlock(&fetcher->mutex);
    return fetched;
}

static void *fetch(void *data)
{
    struct fetcher *fetcher = data;
    struct taken_calls *calls = fetcher->calls;
    bool is_ensured = false;
    int64_t ensured_at = 0; /* the reconnection before it */
    unsigned fetches = 0; /* in vain */
    while (taken_calls_wait_for_place(calls)) {
        int64_t reconnected_at = broker_reconnected_at(calls->broker);
        if (!is_ensured || reconnected_at != ensured_at || fetches > FETCHES_MAX) {
            is_ensured = queue_ensure_consumer(calls->broker, fetcher->environment) == NATS_OK;
            ensured_at = reconnected_at;
            fetches = 0;
        }
        enum fetched fetched = is_ensured ? fetch_one(fetcher) : FETCH_FAILED;
        fetches = fetched == FETCH_CALL ? 0 : fetches + 1;
        if (fetched != FETCH_FAILED)
            continue;
        /* The broker is gone, or has been started anew without its queue. */
        is_ensured = false;
        broker_pause(PAUSE_MS);
    }
    natsSubscription_Destroy(fetcher->subscription);
    return NULL;
}

static int fetcher_start(struct fetcher *fetcher, struct fault *fault)
{
    const struct nats_link *broker = fetcher->calls->broker;
    char secret[SUBJECT_ID_SIZE];
    pthread_condattr_t attributes;
    pthread_mutex_init(&fetcher->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&fetcher->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (subject_make_id(secret) < 0)
        return fault_set(fault, EIO, "making a name for this worker: %m");
    snprintf(fetcher->inbox, sizeof(fetcher->inbox), WIRE_INBOX ".%s", broker->user, secret);
    natsStatus s = natsConnection_Subscribe(&fetcher->subscription, broker->connection,
                                            fetcher->inbox, on_fetched, fetcher);
    if (s != NATS_OK)
        return broker_fault(fault, s, "listening for calls");
    int error = pthread_create(&fetcher->thread, NULL, fetch, fetcher);
    return error == 0 ? 0 : fault_set(fault, error, "starting a thread: %m");
}

/* A line of the process that started us: a result, a sign of life, or the wish to stop. True: to stop. */
static bool take_line(struct taken_calls *calls, const char *line, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    int64_t number = 0;
    int r = json_parse(line, length, &json, NULL);
    if (r == -ENOMEM)
        lines_give_up();
    if (r < 0)
        return false;
    if (json_member(json_root(json), "drain") != NULL)
        return true;
    if (json_member(json_root(json), "pong") != NULL)
        taken_calls_note_pong(calls);
    else if (json_integer(json_member(json_root(json), "id"), &number) == 0)
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

/* What front ends may ask of this worker beside its calls. It stays where it is. */
struct presence {
    struct nats_link *broker;
    struct buffer description;
    natsSubscription *list[ENVIRONMENTS_MAX];
    natsSubscription *all, *finds, *drops;
    struct answer_rate who, calls;
};

/* A broker that was started anew has no queue, which front ends need before this worker has a place. */
static void *keep_queue(void *data)
{
    struct nats_link *broker = data;
    int64_t kept_at = 0;
    for (;;) {
        int64_t reconnected_at = broker_reconnected_at(broker);
        if (reconnected_at != kept_at && queue_ensure(broker, NULL) == 0)
            kept_at = reconnected_at;
        broker_pause(PAUSE_MS);
    }
    return NULL;
}

/* Each answer goes to the front end in the subject, which only its user may use: to no subject that a message names. */
static void answer(const struct presence *presence, const struct call_address *address,
                   const char *data, size_t length)
{
    char subject[WIRE_SUBJECT_SIZE];
    subject_write_front(presence->broker->options->pool, address, subject);
    natsConnection_Publish(presence->broker->connection, subject, data, (int)length);
}

/* Whether the message is a question that is to be answered. */
static bool read_question(struct presence *presence, natsMsg *message, const char *kind,
                          struct call_address *ret_address)
{
    struct answer_rate *rate = strcmp(kind, WIRE_WHO) == 0 ? &presence->who : &presence->calls;
    return subject_read_call(natsMsg_GetSubject(message), kind, presence->broker->options->pool,
                             ret_address) &&
           answer_rate_allows(rate, ret_address->front, clock_now());
}

static void say_who(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *data)
{
    (void)connection;
    (void)subscription;
    struct presence *presence = data;
    struct call_address address;
    if (read_question(presence, message, WIRE_WHO, &address))
        answer(presence, &address, presence->description.data, presence->description.length);
    natsMsg_Destroy(message);
}

static void find_call(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *data)
{
    (void)connection;
    (void)subscription;
    struct presence *presence = data;
    struct call_address address;
    char text[64] = WIRE_STORED;
    bool is_stored;
    uint64_t most;
    if (read_question(presence, message, WIRE_HAS, &address) &&
        queue_find(presence->broker, &address, &is_stored, &most) == 0) {
        if (!is_stored)
            snprintf(text, sizeof(text), WIRE_ABSENT " %" PRIu64, most);
        answer(presence, &address, text, strlen(text));
    }
    natsMsg_Destroy(message);
}

static void drop_call(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *data)
{
    (void)connection;
    (void)subscription;
    struct presence *presence = data;
    struct call_address address;
    if (read_question(presence, message, WIRE_DROP, &address))
        queue_drop(presence->broker, &address);
    natsMsg_Destroy(message);
}

static natsStatus listen_for(struct presence *presence, const char *environment,
                             natsSubscription **ret_subscription)
{
    char subject[WIRE_SUBJECT_SIZE];
    snprintf(subject, sizeof(subject), "csm." WIRE_WHO ".%s.%s.*.*.*",
             presence->broker->options->pool, environment);
    return natsConnection_Subscribe(ret_subscription, presence->broker->connection, subject,
                                    say_who, presence);
}

/* One worker of the pool does it for all. */
static natsStatus listen_in_turn(struct presence *presence, const char *kind,
                                 natsMsgHandler handler, natsSubscription **ret_subscription)
{
    char subject[WIRE_SUBJECT_SIZE];
    snprintf(subject, sizeof(subject), "csm.%s.%s.*.*.*.*", kind, presence->broker->options->pool);
    return natsConnection_QueueSubscribe(ret_subscription, presence->broker->connection, subject,
                                         "workers", handler, presence);
}

static int presence_open(struct presence *presence, struct nats_link *broker, unsigned places,
                         struct fault *fault)
{
    const struct broker_options *options = broker->options;
    *presence = (struct presence){
        .broker = broker,
        .who = {who_of_front, who_of_all, PTHREAD_MUTEX_INITIALIZER},
        .calls = {calls_of_front, calls_of_all, PTHREAD_MUTEX_INITIALIZER},
    };
    if (census_describe(options, places, &presence->description) < 0)
        return fault_set(fault, ENOMEM, "telling the pool of this worker: %m");
    natsStatus s = listen_for(presence, WIRE_ALL, &presence->all);
    for (size_t i = 0; s == NATS_OK && i < options->environment_count; i++)
        s = listen_for(presence, options->environments[i].text, &presence->list[i]);
    if (s == NATS_OK)
        s = listen_in_turn(presence, WIRE_HAS, find_call, &presence->finds);
    if (s == NATS_OK)
        s = listen_in_turn(presence, WIRE_DROP, drop_call, &presence->drops);
    if (s == NATS_OK) /* whoever reads that this worker is there, finds it */
        s = natsConnection_FlushTimeout(broker->connection, WIRE_RECONNECT_MS);
    return s == NATS_OK ? 0 : broker_fault(fault, s, "telling the pool of this worker");
}

/* Others take its calls, and answer for the queue. */
static void presence_close(struct presence *presence)
{
    for (size_t i = 0; i < ENVIRONMENTS_MAX; i++)
        natsSubscription_Destroy(presence->list[i]);
    natsSubscription_Destroy(presence->all);
    natsSubscription_Destroy(presence->finds);
    natsSubscription_Destroy(presence->drops);
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
        int r = fetcher_start(&fetchers[i], fault);
        if (r < 0)
            return r;
    }
    return 0;
}

int taker_run(struct nats_link *broker, unsigned places, struct fault *fault)
{
    /* Threads may use it until the process ends. */
    static struct taken_calls calls;
    static struct fetcher fetchers[ENVIRONMENTS_MAX];
    static struct presence presence;
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
