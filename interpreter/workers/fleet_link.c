#include "interpreter/workers/fleet_link.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/helpers.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ID_SIZE 64
#define PING "{\"ping\":true}"
#define PING_NS (10 * NANOSECONDS_PER_SECOND)
#define SILENCE_NS (60 * NANOSECONDS_PER_SECOND) /* more than it waits for a broker */
#define UNSENT_MAX (128 * MEBIBYTE) /* callers bound what is on the way: call_stream.h */

static void unlink_ticket(struct fleet_ticket *ticket)
{
    LIST_REMOVE(ticket->link->first, ticket);
    ticket->link = NULL;
}

static struct fleet_ticket *find_ticket(struct fleet_link *link, const struct json_value *id)
{
    int64_t number = 0;
    if (json_integer(id, &number) < 0)
        return NULL;
    struct fleet_ticket *ticket = link->first;
    while (ticket != NULL && ticket->number != (uint64_t)number)
        ticket = ticket->next;
    return ticket;
}

/* Nobody may hear of it from within a callback of the channel, so the loop tells it. */
static void fail(struct fleet_link *link, const char *reason)
{
    fault_set(&link->failure, ENOTCONN, "%s", reason);
    link->has_failed = true;
    channel_stop_reading(&link->channel);
    loop_arm(link->loop, &link->silence, clock_now());
}

static void end_tickets(struct fleet_link *link);

static void look_again(struct fleet_link *link)
{
    link->looks_at = clock_now() + PING_NS;
    loop_arm(link->loop, &link->silence, link->looks_at);
}

/* So late that this process had been stopped, or had no time: what has come since is not read yet. */
static bool is_late(const struct fleet_link *link)
{
    return clock_now() - link->looks_at > PING_NS;
}

/* From the loop: asks for a sign of life, and gives up if there is none. */
static void look_for_life(struct loop_timer *timer)
{
    struct fleet_link *link = container_of(timer, struct fleet_link, silence);
    if (is_late(link))
        link->heard_at = clock_now();
    if (!link->has_failed && clock_now() - link->heard_at > SILENCE_NS) {
        fault_set(&link->failure, ENOTCONN, "%s", FLEET_PROGRAM " does not answer");
        link->has_failed = true;
    }
    if (link->has_failed) {
        fleet_process_kill(&link->process);
        end_tickets(link);
    } else if (link->first != NULL) {
        channel_send(&link->channel, PING, strlen(PING));
        look_again(link);
    }
}

static void take_line(void *data, const char *line, size_t length)
{
    struct fleet_link *link = data;
    OWNED(json_release) struct json *json = NULL;
    link->heard_at = clock_now();
    if (json_parse(line, length, &json, NULL) < 0) {
        fail(link, FLEET_PROGRAM " has said what cannot be read");
        return;
    }
    const struct json_value *root = json_root(json);
    const struct json_value *failed = json_member(root, "failed");
    struct fleet_ticket *ticket = find_ticket(link, json_member(root, "id"));
    if (failed != NULL && failed->type == JSON_STRING)
        fault_set(&link->failure, ENOTCONN, "%s", failed->text);
    else if (json_member(root, "ready") != NULL)
        link->is_connected = true;
    else if (ticket != NULL && json_member(root, "taken") != NULL)
        ticket->is_taken = true;
    else if (ticket != NULL) {
        unlink_ticket(ticket);
        ticket->answered(ticket, root);
    }
}

/* It holds itself to the bound of a line. */
static void fail_oversized(void *data)
{
    fail(data, FLEET_PROGRAM " has said too much");
}

static void end_tickets(struct fleet_link *link)
{
    link->is_open = false;
    while (link->first != NULL) {
        struct fleet_ticket *ticket = link->first;
        unlink_ticket(ticket);
        ticket->may_have_run = link->is_connected;
        ticket->reason = fleet_link_end(link);
        ticket->answered(ticket, NULL);
    }
}

static void take_end(void *data, enum channel_end end)
{
    (void)end;
    end_tickets(data);
}

static void ignore_pause(void *data, bool is_paused)
{
    (void)data;
    (void)is_paused;
}

static void ignore_drained(void *data)
{
    (void)data;
}

int fleet_link_open(struct fleet_link *link, struct loop *loop, const struct fleet_settings *fleet,
                    const struct settings *settings, struct fault *fault)
{
    *link = (struct fleet_link){
        .process = FLEET_PROCESS_NONE,
        .channel = CHANNEL_NONE,
        .loop = loop,
        .silence = {.fire = look_for_life},
        .observer = {.line = take_line,
                     .oversized = fail_oversized,
                     .ended = take_end,
                     .paused = ignore_pause,
                     .drained = ignore_drained,
                     .data = link},
    };
    int r = fleet_process_start(&link->process, FLEET_SEND, fleet, settings, 0, fault);
    if (r < 0)
        return r;
    r = channel_open(&link->channel, loop, link->process.input_fd, link->process.output_fd,
                     &link->observer);
    if (r < 0)
        return fault_set(fault, -r, "speaking to " FLEET_PROGRAM ": %m");
    channel_set_output_max(&link->channel, UNSENT_MAX);
    channel_read_on(&link->channel);
    link->is_open = true;
    return 0;
}

void fleet_link_close(struct fleet_link *link)
{
    if (link->silence.armed)
        loop_disarm(link->loop, &link->silence);
    link->is_open = false;
    LIST_EACH (struct fleet_ticket, ticket, link->first)
        ticket->link = NULL;
    link->first = NULL;
    channel_close(&link->channel);
    fleet_process_end(&link->process);
}

const char *fleet_link_end(const struct fleet_link *link)
{
    return link->failure.text[0] != '\0' ? link->failure.text : FLEET_PROGRAM " has ended";
}

int fleet_link_send(struct fleet_link *link, struct fleet_ticket *ticket, const struct buffer *call,
                    struct fault *fault)
{
    OWNED(buffer_release) struct buffer line = BUFFER(call->length + ID_SIZE);
    if (!link->is_open) {
        fault_identify(fault, "refused");
        return fault_set(fault, EPIPE, "%s", fleet_link_end(link));
    }
    int r = buffer_format(&line, "{\"id\":%" PRIu64 ",", link->last_number + 1);
    if (r == 0)
        r = buffer_append(&line, call->data + 1, call->length - 1);
    if (r < 0)
        return fault_set(fault, -r, "sending a call: %m");
    ticket->number = ++link->last_number;
    ticket->link = link;
    LIST_PREPEND(link->first, ticket);
    channel_send(&link->channel, line.data, line.length);
    if (!link->silence.armed) {
        link->heard_at = clock_now();
        look_again(link);
    }
    return 0;
}

void fleet_ticket_drop(struct fleet_ticket *ticket)
{
    char line[64];
    struct fleet_link *link = ticket->link;
    if (link == NULL)
        return;
    unlink_ticket(ticket);
    int length = snprintf(line, sizeof(line), "{\"cancel\":%" PRIu64 "}", ticket->number);
    channel_send(&link->channel, line, (size_t)length);
}
