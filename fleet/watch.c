#include "fleet/watch.h"

#include "fleet/census.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PERIOD_MS 250
#define LATE_MS 1000 /* behind time: until then, nobody here has heard what others said */
#define UNSTORED_MS 10000 /* until a call of which nobody knows whether it waits is refused */
#define ABSENCES_MAX 2 /* the first may be told before the broker has stored it */
#define UNTAKEN_MS 1000 /* until it is asked who has the image */

static int64_t milliseconds_since(int64_t at)
{
    return (clock_now() - at) / NANOSECONDS_PER_MILLISECOND;
}

/* After what takes so long at most, unless this process is stopped, or has no time. */
static void note_time(struct watch *watch, int64_t most_ms)
{
    int64_t now = clock_now();
    if (now - watch->seen_at > (most_ms + LATE_MS) * NANOSECONDS_PER_MILLISECOND)
        watch->woken_at = now;
    watch->seen_at = now;
}

void watch_explain_missing(struct nats_link *broker, const struct environment_name *environment,
                           struct fault *fault)
{
    if (census_ask(broker, WIRE_ALL) == -ENOENT) {
        fault_set(
            fault, ENOENT,
            "the pool %s has no workers: start one with `code-sandbox-mcp worker`, or name another "
            "pool with --pool",
            broker->options->pool);
        return;
    }
    fault_set(fault, ENOENT,
              "no worker of the pool %s has the image %s as it is here (%s): copy its lock.json to "
              "the workers, and there run `code-sandbox-mcp fetch %s --locked lock.json`",
              broker->options->pool, environment->image, environment->text, environment->image);
}

/* Unless a worker has been told that it may run it. */
static void refuse(struct watch *watch, const struct sent_call *call, const char *reason)
{
    if (sent_calls_refuse(watch->calls, call->number, reason) && call->sent_at != 0)
        publisher_drop(watch->publisher, call->number);
}

/* Time since then, or since both the broker and this process have been there again. */
static int64_t waited_ms(const struct watch *watch, int64_t at)
{
    int64_t since = broker_reconnected_at(watch->broker);
    if (since < watch->woken_at)
        since = watch->woken_at;
    return milliseconds_since(at > since ? at : since);
}

static void explain_absence(const struct watch *watch, struct fault *fault)
{
    uint64_t most = watch->calls->queue_most;
    char bound[64] = "";
    if (most > 0)
        snprintf(bound, sizeof(bound), ", at most %" PRIu64 " calls", most);
    fault_set(fault, EAGAIN,
              "the queue of the pool %s is full%s, or has forgotten the call: try again when some "
              "have ended",
              watch->broker->options->pool, bound);
}

/* Sent, but no worker has said that it is in the stream, since the broker has been there. */
static void look_at_unstored(struct watch *watch, const struct sent_call *call)
{
    char denial[BROKER_DENIAL_MAX];
    struct fault fault = {0};
    explain_absence(watch, &fault);
    if (broker_has_denied(watch->broker, call->sent_at, denial)) {
        refuse(watch, call, denial);
    } else if (call->absences >= ABSENCES_MAX) {
        refuse(watch, call, fault.text);
    } else if (waited_ms(watch, call->sent_at) > UNSTORED_MS) {
        refuse(watch, call, "no worker has said in time that it waits in the queue");
    } else if (waited_ms(watch, call->sent_at) >= PERIOD_MS &&
               milliseconds_since(call->asked_at) >= 2 * PERIOD_MS) {
        sent_calls_note_asked(watch->calls, call->number);
        publisher_ask(watch->publisher, call->number);
    }
}

/* No worker has the image of this call, and of others that wait. */
static void refuse_queued(struct watch *watch, const struct sent_call *queued)
{
    struct fault fault = {0};
    struct sent_call call = *queued;
    watch_explain_missing(watch->broker, queued->environment, &fault);
    note_time(watch, WIRE_REQUEST_MS);
    do {
        if (call.environment == queued->environment && call.stored_at != 0)
            refuse(watch, &call, fault.text);
    } while (sent_calls_next(watch->calls, call.number, &call));
}

static void ask_who_has_image(struct watch *watch, const struct sent_call *call)
{
    const struct broker_options *options = watch->broker->options;
    int64_t *asked_at = &watch->asked_at[call->environment - options->environments];
    if (milliseconds_since(*asked_at) <= UNTAKEN_MS)
        return;
    int r = census_ask(watch->broker, call->environment->text);
    note_time(watch, WIRE_REQUEST_MS);
    if (r == -ENOENT)
        refuse_queued(watch, call);
    else
        *asked_at = clock_now();
}

static void look_at_queued(struct watch *watch, const struct sent_call *call)
{
    int64_t age = milliseconds_since(call->sent_at) - WIRE_QUEUE_AGE_S * 1000;
    if (age > 2 * WIRE_ACK_WAIT_S * 1000)
        sent_calls_end(watch->calls, call->number, "lost", "the broker has it no more");
    else if (age > 0)
        refuse(watch, call, "no worker has taken it in 10 minutes");
    else if (milliseconds_since(call->sent_at) > UNTAKEN_MS)
        ask_who_has_image(watch, call);
}

/* Not while something waits here that its worker may have said. */
static bool is_silent(const struct watch *watch, const struct sent_call *call)
{
    int waiting = 0;
    return waited_ms(watch, call->heard_at) >= WIRE_SILENCE_MS &&
           natsSubscription_GetPending(watch->answers, &waiting, NULL) == NATS_OK && waiting == 0;
}

/* Its worker gives up its result after the same time. */
static bool is_late(const struct sent_call *call)
{
    return call->came_at != 0 && milliseconds_since(call->came_at) > WIRE_CONFIRM_MS;
}

static void look_at_taken(struct watch *watch, const struct sent_call *call)
{
    char reason[WIRE_NAME_MAX + 192];
    bool is_over = is_late(call) || is_silent(watch, call);
    if (milliseconds_since(call->taken_at) > call->wall_ms + WIRE_SLACK_MS)
        snprintf(reason, sizeof(reason),
                 "its worker %s has had more time than its time limit, and has sent no result",
                 call->name);
    else if (!is_over)
        return;
    else if (sent_call_waits_for_room(call))
        snprintf(reason, sizeof(reason),
                 "it has run, but its result found no room beside those of other calls on their "
                 "way, %llu MiB together: have fewer calls with large results in flight",
                 (unsigned long long)(RESULTS_ON_THE_WAY_MAX / MEBIBYTE));
    else if (is_late(call))
        snprintf(reason, sizeof(reason),
                 "it has run, but its worker %s has sent only a part of its result in %d s",
                 call->name, WIRE_CONFIRM_MS / 1000);
    else
        snprintf(reason, sizeof(reason),
                 "its worker %s has been silent for %d s: it may have run in part", call->name,
                 WIRE_SILENCE_MS / 1000);
    sent_calls_end(watch->calls, call->number, "lost", reason);
}

static void look(struct watch *watch)
{
    int64_t gone = broker_gone_ms(watch->broker);
    int64_t since = broker_reconnected_at(watch->broker);
    struct sent_call call = {0};
    while (sent_calls_next(watch->calls, call.number, &call)) {
        note_time(watch, 0);
        if (gone > WIRE_RECONNECT_MS)
            sent_calls_end(watch->calls, call.number, "lost",
                           "the broker has been gone for 10 s: it may have run in part");
        else if (gone == 0 && call.is_taken)
            look_at_taken(watch, &call);
        else if (gone == 0 && call.stored_at > since)
            look_at_queued(watch, &call);
        else if (gone == 0 && call.sent_at != 0)
            look_at_unstored(watch, &call);
    }
}

static void *watch_calls(void *data)
{
    const struct timespec pause = {0, PERIOD_MS * 1000000};
    struct watch *watch = data;
    watch->seen_at = clock_now();
    for (;;) {
        look(watch);
        nanosleep(&pause, NULL);
        note_time(watch, PERIOD_MS);
    }
    return NULL;
}

int watch_start(struct watch *watch, struct fault *fault)
{
    int error = pthread_create(&watch->thread, NULL, watch_calls, watch);
    return error == 0 ? 0 : fault_set(fault, error, "starting a thread: %m");
}
