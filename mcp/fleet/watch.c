#include "mcp/fleet/watch.h"

#include "mcp/fleet/queue.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PERIOD_MS 250
#define UNSTORED_MS 5000 /* until a call that the broker has not confirmed is refused */
#define UNTAKEN_MS 1000 /* until it is asked who has the image */

static int64_t milliseconds_since(int64_t at)
{
    return (clock_now() - at) / NANOSECONDS_PER_MILLISECOND;
}

int watch_ask_who(struct broker *broker, const struct environment_name *environment)
{
    char subject[WIRE_SUBJECT_SIZE];
    bool go;
    snprintf(subject, sizeof(subject), WIRE_WHO, broker->options->pool, environment->text);
    return broker_ask(broker, subject, "", 0, &go);
}

void watch_explain_missing(const struct broker *broker, const struct environment_name *environment,
                           struct fault *fault)
{
    fault_set(fault, ENOENT,
              "no worker of the pool %s has the image %s as it is here (%s): copy its lock.json to "
              "the workers, and there run `code-sandbox-mcp fetch %s --locked lock.json`",
              broker->options->pool, environment->image, environment->text, environment->image);
}

/* Unless a worker has been told that it may run it. */
static void refuse(struct watch *watch, const struct sent_call *call, const char *reason)
{
    if (sent_calls_refuse(watch->calls, call->number, reason) && call->sequence != 0)
        queue_delete(watch->broker, call->sequence, call->stored_at);
}

/* Sent, but the broker has not said that it has it. */
static void look_at_unstored(struct watch *watch, const struct sent_call *call)
{
    char denial[BROKER_DENIAL_MAX];
    if (broker_has_denied(watch->broker, call->sent_at, denial))
        refuse(watch, call, denial);
    else if (milliseconds_since(call->sent_at) > UNSTORED_MS)
        refuse(watch, call, "the broker did not confirm it in time");
}

static void look_at_queued(struct watch *watch, const struct sent_call *call)
{
    const struct broker_options *options = watch->broker->options;
    size_t index = (size_t)(call->environment - options->environments);
    int64_t age = milliseconds_since(call->sent_at) - WIRE_QUEUE_AGE_S * 1000;
    if (age > 2 * WIRE_ACK_WAIT_S * 1000) {
        sent_calls_end(watch->calls, call->number, "lost", "the broker has it no more");
    } else if (age > 0) {
        refuse(watch, call, "no worker has taken it in 10 minutes");
    } else if (milliseconds_since(call->sent_at) > UNTAKEN_MS &&
               milliseconds_since(watch->asked_at[index]) > UNTAKEN_MS) {
        struct fault fault = {0};
        watch_explain_missing(watch->broker, call->environment, &fault);
        if (watch_ask_who(watch->broker, call->environment) == -ENOENT)
            refuse(watch, call, fault.text); /* and the others when their turn comes */
        else
            watch->asked_at[index] = clock_now();
    }
}

static void look_at_taken(struct watch *watch, const struct sent_call *call)
{
    char reason[WIRE_NAME_MAX + 128];
    int64_t since = broker_reconnected_at(watch->broker);
    if (milliseconds_since(call->heard_at > since ? call->heard_at : since) < WIRE_SILENCE_MS)
        return;
    snprintf(reason, sizeof(reason),
             "its worker %s has been silent for %d s: it may have run in part", call->worker,
             WIRE_SILENCE_MS / 1000);
    sent_calls_end(watch->calls, call->number, "lost", reason);
}

/* A broker that was started anew has forgotten what waited; nobody can tell that none of it had begun. */
static void look_at_stream(struct watch *watch)
{
    int64_t reconnected_at = broker_reconnected_at(watch->broker);
    struct broker *broker = watch->broker;
    jsStreamInfo *information = NULL;
    if (watch->created != 0 && reconnected_at == watch->checked_at)
        return;
    natsStatus s = js_GetStreamInfo(&information, broker->stream, broker->stream_name, NULL, NULL);
    if (s != NATS_OK && s != NATS_NOT_FOUND)
        return;
    int64_t created = s == NATS_OK ? information->Created : 0;
    if (s == NATS_OK && information->Config != NULL)
        watch->queue_max = information->Config->MaxMsgs;
    jsStreamInfo_Destroy(information);
    bool is_new = watch->created != 0 && created != watch->created;
    watch->created = created;
    watch->checked_at = reconnected_at;
    struct sent_call call = {0};
    while (is_new && sent_calls_next(watch->calls, call.number, &call))
        if (!call.is_taken && call.sent_at != 0 && call.sent_at < reconnected_at)
            sent_calls_end(watch->calls, call.number, "lost",
                           "the broker was started anew, and has forgotten what waited: it may "
                           "have run in part");
}

static void look(struct watch *watch)
{
    int64_t gone = broker_gone_ms(watch->broker);
    struct sent_call call = {0};
    if (gone == 0)
        look_at_stream(watch);
    while (sent_calls_next(watch->calls, call.number, &call)) {
        if (gone > WIRE_RECONNECT_MS)
            sent_calls_end(watch->calls, call.number, "lost",
                           "the broker has been gone for 10 s: it may have run in part");
        else if (gone == 0 && call.is_taken)
            look_at_taken(watch, &call);
        else if (gone == 0 && call.sequence != 0)
            look_at_queued(watch, &call);
        else if (gone == 0 && call.sent_at != 0)
            look_at_unstored(watch, &call);
    }
}

static void *watch_calls(void *data)
{
    const struct timespec pause = {0, PERIOD_MS * 1000000};
    for (;;) {
        look(data);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int watch_start(struct watch *watch, struct fault *fault)
{
    look_at_stream(watch); /* a call may be refused before the thread has looked */
    int error = pthread_create(&watch->thread, NULL, watch_calls, watch);
    return error == 0 ? 0 : fault_set(fault, error, "starting a thread: %m");
}
