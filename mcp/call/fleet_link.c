#include "mcp/call/fleet_link.h"

#include "mcp/base/bounds.h"
#include "mcp/base/helpers.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define UNSENT_MAX (128 * MEBIBYTE) /* callers bound what is on the way: call_stream.h */

static void unlink_ticket(struct fleet_ticket *ticket)
{
    struct fleet_ticket **at = &ticket->link->first;
    while (*at != ticket)
        at = &(*at)->next;
    *at = ticket->next;
    ticket->link = NULL;
}

static void take_line(void *data, const char *line, size_t length)
{
    struct fleet_link *link = data;
    OWNED(json_release) struct json *json = NULL;
    int64_t number = 0;
    if (json_parse(line, length, &json, NULL) < 0)
        return;
    if (json_member(json_root(json), "ready") != NULL)
        link->is_connected = true;
    if (json_integer(json_member(json_root(json), "id"), &number) < 0)
        return;
    struct fleet_ticket *ticket = link->first;
    while (ticket != NULL && ticket->number != (uint64_t)number)
        ticket = ticket->next;
    if (ticket == NULL)
        return;
    unlink_ticket(ticket);
    ticket->answered(ticket, json_root(json));
}

/* It holds itself to the bound of a line. */
static void ignore_oversized(void *data)
{
    (void)data;
}

static void take_end(void *data, enum channel_end end)
{
    struct fleet_link *link = data;
    (void)end;
    link->is_open = false;
    while (link->first != NULL) {
        struct fleet_ticket *ticket = link->first;
        unlink_ticket(ticket);
        ticket->may_have_run = link->is_connected;
        ticket->answered(ticket, NULL);
    }
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
        .observer = {.line = take_line,
                     .oversized = ignore_oversized,
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
    link->is_open = false;
    while (link->first != NULL)
        unlink_ticket(link->first);
    channel_close(&link->channel);
    fleet_process_end(&link->process);
}

static const char *const not_passed_on[] = {"id", NULL};

static int write_call(uint64_t number, const struct json_value *call, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_number_member(writer, "id", (int64_t)number);
    json_copy_members(writer, call, not_passed_on);
    json_end_object(writer);
    return json_writer_close(writer);
}

int fleet_link_send(struct fleet_link *link, struct fleet_ticket *ticket,
                    const struct json_value *call, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(2 * LINE_IN_MAX);
    if (!link->is_open) {
        fault_identify(fault, "refused");
        return fault_set(fault, EPIPE, "%s",
                         link->is_connected ? FLEET_PROGRAM " has ended"
                                            : "no broker at the address of --workers");
    }
    int r = write_call(link->last_number + 1, call, &text);
    if (r < 0)
        return fault_set(fault, -r, "sending a call: %m");
    ticket->number = ++link->last_number;
    ticket->link = link;
    ticket->next = link->first;
    link->first = ticket;
    channel_send(&link->channel, text.data, text.length);
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
