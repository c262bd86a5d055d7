#include "mcp/tools/call_progress.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#define FIRST_AFTER NANOSECONDS_PER_SECOND
#define NEXT_AFTER NANOSECONDS_PER_SECOND
#define LINES_AFTER (NANOSECONDS_PER_SECOND / 2) /* where there are new lines */
#define AGAIN_AFTER (NANOSECONDS_PER_SECOND / 4) /* where the client has much to read already */
#define LINES_AGE (NANOSECONDS_PER_SECOND / 10) /* the last words of a program are in its result */

/* Of the lines that were printed, how many bytes end in one that is complete. */
static size_t complete_length(const struct buffer *lines)
{
    size_t length = lines->length;
    while (length > 0 && lines->data[length - 1] != '\n')
        length--;
    return length;
}

static void write_message(struct json_writer *writer, const struct call_progress *progress)
{
    size_t length = complete_length(&progress->lines);
    while (length > 0 && progress->lines.data[length - 1] == '\n')
        length--;
    if (length > 0) {
        json_key(writer, "message");
        json_string(writer, progress->lines.data, length);
    } else if (progress->why_waiting(progress->data) != NULL) {
        json_text_member(writer, "message", progress->why_waiting(progress->data));
    }
}

static void write_progress(struct json_writer *writer, const void *data)
{
    const struct call_progress *progress = data;
    int64_t elapsed = clock_now() - progress->began;
    json_begin_object(writer);
    json_key(writer, "progressToken");
    json_raw(writer, progress->token.data, progress->token.length);
    json_key(writer, "progress"); /* in seconds */
    json_double(writer, (double)(elapsed / NANOSECONDS_PER_MILLISECOND) / 1000);
    if (progress->version >= VERSION_2025_03_26)
        write_message(writer, progress);
    json_end_object(writer);
}

static void tell(struct loop_timer *timer)
{
    struct call_progress *progress = container_of(timer, struct call_progress, timer);
    int64_t now = clock_now();
    if (progress->client->unsent(progress->client) > CALL_PROGRESS_UNSENT_MAX) {
        loop_arm(progress->loop, timer, now + AGAIN_AFTER);
        return;
    }
    progress->due = now + LINES_AFTER;
    loop_arm(progress->loop, timer, now + NEXT_AFTER);
    rpc_notify(&progress->client->rpc, "notifications/progress", write_progress, progress);
    buffer_consume(&progress->lines, complete_length(&progress->lines));
}

void call_progress_open(struct call_progress *progress, struct loop *loop,
                        const struct reply *reply, const struct json_value *token)
{
    *progress = (struct call_progress){
        .loop = loop,
        .client = client_of(reply->answer),
        .version = reply->version,
        .token = BUFFER(8 * ID_MAX),
        .lines = BUFFER(CALL_PROGRESS_LINES_MAX),
        .timer = {.fire = tell},
        .began = clock_now(),
    };
    progress->due = progress->began + FIRST_AFTER;
    if (rpc_id_write(token, &progress->token) == 0)
        loop_arm(loop, &progress->timer, progress->due);
}

void call_progress_add(struct call_progress *progress, const char *bytes, size_t length)
{
    if (!progress->timer.armed || length == 0)
        return;
    struct buffer *lines = &progress->lines;
    if (length > lines->maximum / 2) {
        bytes += length - lines->maximum / 2;
        length = lines->maximum / 2;
    }
    if (lines->length + length > lines->maximum)
        buffer_consume(lines, lines->length + length - lines->maximum);
    if (buffer_append(lines, bytes, length) < 0 || complete_length(lines) == 0)
        return;
    int64_t soon = clock_now() + LINES_AGE;
    int64_t when = progress->due > soon ? progress->due : soon;
    if (when < progress->timer.deadline)
        loop_arm(progress->loop, &progress->timer, when);
}

void call_progress_close(struct call_progress *progress)
{
    if (progress->timer.armed)
        loop_disarm(progress->loop, &progress->timer);
    buffer_release(&progress->token);
    buffer_release(&progress->lines);
}
