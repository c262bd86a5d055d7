#include "fleet/call_stream.h"

#include "interpreter/base/bounds.h"
#include "interpreter/result/result_json.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/engine.h"
#include "sandbox/inherited.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define CANCEL "{\"cancel\":"
#define PING "{\"ping\":true}"
#define PONG "{\"pong\":true}"

struct stream_call {
    struct stream_call *previous, *next;
    struct call_stream *stream;
    struct call_run run;
    size_t bytes; /* of its line */
    bool has_ended;
};

static void add_call(struct call_stream *stream, struct stream_call *call)
{
    QUEUE_APPEND(stream, call);
    stream->in_progress++;
    stream->ahead_bytes += call->bytes;
}

static void note_ended(struct stream_call *call)
{
    struct call_stream *stream = call->stream;
    if (call->has_ended)
        return;
    call->has_ended = true;
    stream->in_progress--;
    stream->ahead_bytes -= call->bytes;
    stream->ended_bytes += call->run.result.length;
}

static void remove_call(struct stream_call *call)
{
    struct call_stream *stream = call->stream;
    note_ended(call);
    stream->ended_bytes -= call->run.result.length;
    QUEUE_REMOVE(stream, call);
    call_run_drop(&call->run);
    free(call);
}

/* From the loop: the caller may be in the middle of something that the owner will free. */
static void end_soon(struct call_stream *stream)
{
    if (!stream->has_ended && !stream->end.armed)
        loop_arm(stream->loop, &stream->end, clock_now());
}

static void end_now(struct loop_timer *timer)
{
    struct call_stream *stream = container_of(timer, struct call_stream, end);
    stream->has_ended = true;
    stream->options.ended(stream->options.data);
}

/*
 * Whether no more results should be made. In order, the results of later calls may wait for the first one:
 * that must be able to go on.
 */
static bool is_output_full(const struct call_stream *stream)
{
    size_t waiting = channel_unsent(&stream->channel) + stream->ended_bytes;
    bool first_waits = stream->options.ordered && stream->first != NULL &&
                       call_run_is_waiting(&stream->first->run);
    return waiting > OUTPUT_PAUSE && !first_waits;
}

/*
 * A worker holds nothing back: it has no more calls than places, and code-sandbox-mcp-fleet may read results
 * again only when its own lines have been read.
 */
static void hold_back(struct call_stream *stream)
{
    bool is_full = is_output_full(stream);
    bool has_room = stream->in_progress < stream->ahead_max &&
                    stream->ahead_bytes < CALLS_AHEAD_BYTES_MAX &&
                    channel_unsent(&stream->channel) + stream->ended_bytes <= OUTPUT_PAUSE &&
                    !stream->channel.paused;
    if (stream->options.is_worker)
        return;
    launcher_hold(&stream->site.launcher, HOLD_UNREAD, is_full);
    channel_hold(&stream->channel, !has_room);
}

/* Reads as far as there is room, and ends when there is nothing left to do. */
static void look_again(struct call_stream *stream)
{
    hold_back(stream);
    if (stream->channel.reading)
        return;
    if (stream->first == NULL && channel_is_drained(&stream->channel))
        end_soon(stream);
}

static void write_result(struct stream_call *call)
{
    struct call_stream *stream = call->stream;
    if (call->run.result.length > 0)
        channel_send(&stream->channel, call->run.result.data, call->run.result.length);
    else
        stream->has_failed = true;
    remove_call(call);
}

static void end_call(struct stream_call *call, enum call_end end)
{
    struct call_stream *stream = call->stream;
    stream->counts.ran += end == CALL_RAN;
    stream->counts.not_run += end == CALL_NOT_RUN;
    stream->counts.lost += end == CALL_LOST;
    note_ended(call);
    if (!stream->options.ordered)
        write_result(call);
    while (stream->options.ordered && stream->first != NULL && stream->first->has_ended)
        write_result(stream->first);
}

static void run_done(struct call_run *run, enum call_end end)
{
    struct stream_call *call = container_of(run, struct stream_call, run);
    struct call_stream *stream = call->stream;
    end_call(call, end);
    look_again(stream);
}

static void refuse(struct stream_call *call, const struct fault *fault)
{
    call_run_refuse(&call->run, fault);
    end_call(call, CALL_NOT_RUN);
}

static struct stream_call *new_call(struct call_stream *stream, size_t bytes)
{
    struct stream_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        stream->has_failed = true;
        return NULL;
    }
    *call = (struct stream_call){
        .stream = stream,
        .run = {.done = run_done, .site = &stream->site, .number = stream->counts.lines},
        .bytes = bytes,
    };
    add_call(stream, call);
    return call;
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

/* The number of a line stands for an id that was not given. 0 or a negative errno. */
static int ensure_id(struct call_run *run)
{
    if (run->call.id.length > 0)
        return 0;
    run->call.id = BUFFER(CALL_ID_MAX);
    return buffer_format(&run->call.id, "%" PRIu64, run->number);
}

static bool is_done(struct call_stream *stream, const struct buffer *id)
{
    return stream->options.is_done != NULL && stream->options.is_done(stream->options.data, id);
}

static void cancel(struct call_stream *stream, const char *id, size_t length)
{
    for (struct stream_call *call = stream->first; call != NULL; call = call->next) {
        if (call->run.call.id.length != length || memcmp(call->run.call.id.data, id, length) != 0)
            continue;
        remove_call(call);
        return;
    }
}

/* {"cancel":7}, exactly as code-sandbox-mcp-fleet writes it. */
static bool take_cancel(struct call_stream *stream, const char *line, size_t length)
{
    size_t begin = strlen(CANCEL);
    if (!stream->options.is_worker || length <= begin + 1 || memcmp(line, CANCEL, begin) != 0)
        return false;
    cancel(stream, line + begin, length - begin - 1);
    return true;
}

/* Exactly as code-sandbox-mcp-fleet writes it: it wants to know whether we still do something. */
static bool take_ping(struct call_stream *stream, const char *line, size_t length)
{
    if (!stream->options.is_worker || length != strlen(PING) || memcmp(line, PING, length) != 0)
        return false;
    channel_send(&stream->channel, PONG, strlen(PONG));
    return true;
}

/* A line without a readable id has its number, as every line without one. */
static void refuse_line(struct stream_call *call, const struct fault *fault)
{
    (void)ensure_id(&call->run);
    refuse(call, fault);
}

static void take_line(void *data, const char *line, size_t length)
{
    struct call_stream *stream = data;
    if (take_ping(stream, line, length))
        return;
    if (take_cancel(stream, line, length)) {
        look_again(stream);
        return;
    }
    stream->counts.lines++;
    if (is_blank(line, length))
        return;
    struct stream_call *call = new_call(stream, length);
    if (call == NULL)
        return;
    struct fault fault = {.id = "bad_line"};
    int (*const read)(struct call_line *, const struct settings *, const char *, size_t,
                      struct fault *) =
        stream->options.is_worker ? call_line_read_carried : call_line_read;
    int r = read(&call->run.call, stream->options.settings, line, length, &fault);
    if (r == 0)
        r = ensure_id(&call->run);
    if (r == 0 && is_done(stream, &call->run.call.id)) {
        stream->counts.skipped++;
        remove_call(call);
        return;
    }
    if (r == 0) {
        fault.id = NULL;
        r = call_run_start(&call->run, &fault);
    }
    if (r < 0)
        refuse_line(call, &fault);
    look_again(stream);
}

static void take_oversized(void *data)
{
    struct call_stream *stream = data;
    stream->counts.lines++;
    struct stream_call *call = new_call(stream, 0);
    struct fault fault = {.id = "bad_line"};
    if (call == NULL)
        return;
    fault_set(&fault, E2BIG, "the line is longer than %llu MiB, the most that is accepted",
              (unsigned long long)(LINE_IN_MAX / MEBIBYTE));
    refuse_line(call, &fault);
}

static void input_or_output_ended(void *data, enum channel_end end)
{
    struct call_stream *stream = data;
    if (end == CHANNEL_INPUT_ENDED && !stream->options.is_worker)
        look_again(stream);
    else
        end_soon(stream);
}

static void output_paused(void *data, bool is_paused)
{
    (void)is_paused;
    look_again(data);
}

static void output_drained(void *data)
{
    look_again(data);
}

/* Results of all that runs may end while nobody reads. */
static size_t output_max(const struct call_stream *stream)
{
    size_t kept = stream->options.settings->limits.output_kept;
    return OUTPUT_PAUSE + stream->ahead_max * RESULT_JSON_MAX(kept);
}

int call_stream_open(struct call_stream *stream, struct loop *loop,
                     const struct call_stream_options *options, struct fault *fault)
{
    uint64_t parallel = options->settings->engine.parallel;
    *stream = (struct call_stream){
        .options = *options,
        .loop = loop,
        .observer = {.line = take_line,
                     .oversized = take_oversized,
                     .ended = input_or_output_ended,
                     .paused = output_paused,
                     .drained = output_drained,
                     .data = stream},
        .channel = CHANNEL_NONE,
        .ahead_max = (parallel != 0 ? parallel : inherited_processors()) + CALLS_AHEAD_MAX,
        .end = {.fire = end_now},
    };
    if (options->fleet->url != NULL && parallel == 0)
        stream->ahead_max = CALLS_ELSEWHERE_MAX;
    int r = call_site_open(&stream->site, loop, options->settings, options->fleet, fault);
    if (r < 0)
        return r;
    if (options->is_worker) /* servers elsewhere wait for each answer */
        launcher_prewarm(&stream->site.launcher);
    r = channel_open(&stream->channel, loop, options->input_fd, options->output_fd,
                     &stream->observer);
    if (r < 0)
        return fault_set(fault, -r, "reading calls and writing results: %m");
    channel_set_output_max(&stream->channel, output_max(stream));
    if (options->is_worker)
        channel_read_on(&stream->channel);
    return 0;
}

void call_stream_close(struct call_stream *stream)
{
    if (stream->end.armed)
        loop_disarm(stream->loop, &stream->end);
    call_site_stop(&stream->site);
    while (stream->first != NULL)
        remove_call(stream->first);
    call_site_close(&stream->site);
    channel_close(&stream->channel);
}

void call_stream_finish(struct call_stream *stream)
{
    stream->is_finishing = true;
    channel_stop_reading(&stream->channel);
    LIST_EACH (struct stream_call, call, stream->first) {
        if (!call->has_ended && call_run_is_waiting(&call->run))
            remove_call(call);
    }
    look_again(stream);
}
