#include "images/base/progress.h"

#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR_WIDTH 24
#define PART_WIDTH 12
#define CLEAR "\r\033[J" /* clears this line and all below it */
#define DRAW_EVERY (100 * NANOSECONDS_PER_MILLISECOND)
#define TELL_EVERY (500 * NANOSECONDS_PER_MILLISECOND)
#define EVENT_MAX (64 << 10)
#define RATE_AFTER NANOSECONDS_PER_SECOND /* earlier, the rate means nothing */

void progress_open(struct progress *progress, const char *name, bool json)
{
    const char *kind = getenv("TERM");
    *progress = (struct progress){
        .name = name,
        .json = json,
        .terminal = !json && isatty(STDERR_FILENO) && (kind == NULL || strcmp(kind, "dumb") != 0),
        .started = clock_now(),
    };
}

/* Begins an event with its text. Without memory, the event is dropped. */
static struct json_writer *event_begin(const struct progress *progress, struct buffer *line,
                                       const char *event)
{
    struct json_writer *writer;
    if (json_writer_open(line, &writer) < 0)
        return NULL;
    json_begin_object(writer);
    json_text_member(writer, "event", event);
    json_text_member(writer, "image", progress->name);
    return writer;
}

static void event_end(struct json_writer *writer, const struct buffer *line)
{
    json_end_object(writer);
    if (json_writer_close(writer) == 0)
        printf("%.*s\n", (int)line->length, line->data);
    fflush(stdout);
}

static void event_text(const struct progress *progress, const char *event, const char *text)
{
    OWNED(buffer_release) struct buffer line = BUFFER(EVENT_MAX);
    struct json_writer *writer = event_begin(progress, &line, event);
    if (writer == NULL)
        return;
    json_text_member(writer, "text", text);
    event_end(writer, &line);
}

/* Writes an event at intervals. */
static void event_amount(struct progress *progress, uint64_t done, uint64_t total)
{
    int64_t now = clock_now();
    OWNED(buffer_release) struct buffer line = BUFFER(EVENT_MAX);
    if (now - progress->drawn < TELL_EVERY)
        return;
    struct json_writer *writer = event_begin(progress, &line, "progress");
    if (writer == NULL)
        return;
    progress->drawn = now;
    json_number_member(writer, "done", (int64_t)done);
    json_number_member(writer, "total", (int64_t)total);
    event_end(writer, &line);
}

const char *progress_size_text(uint64_t bytes, char buffer[32])
{
    if (bytes >= 10000000)
        snprintf(buffer, 32, "%llu MB", (unsigned long long)((bytes + 500000) / 1000000));
    else if (bytes >= 100000)
        snprintf(buffer, 32, "%.1f MB", (double)bytes / 1e6);
    else
        snprintf(buffer, 32, "%llu kB", (unsigned long long)((bytes + 999) / 1000));
    return buffer;
}

static void bar_fill(char *bar, int width, int shown)
{
    int filled = shown * width / 1000;
    for (int i = 0; i < width; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[width] = '\0';
}

static void bar_draw(const struct progress *progress)
{
    char bar[BAR_WIDTH + 1];
    bar_fill(bar, BAR_WIDTH, progress->shown);
    if (progress->shown >= 0)
        fprintf(stderr, CLEAR "%s: %s [%s] %3d %%", progress->name, progress->step, bar,
                progress->shown / 10);
    else
        fprintf(stderr, CLEAR "%s: %s ...", progress->name, progress->step);
}

void progress_step(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(progress->step, sizeof(progress->step), format, arguments);
    va_end(arguments);
    utf8_make_plain(progress->step, false);
    progress->shown = -1;
    progress->step_started = clock_now();
    progress->drawn = 0;
    if (progress->json)
        event_text(progress, "step", progress->step);
    else if (progress->terminal)
        bar_draw(progress);
    else
        fprintf(stderr, "%s: %s\n", progress->name, progress->step);
}

static int share_of(uint64_t done, uint64_t total)
{
    return done >= total ? 1000 : (int)((double)done * 1000 / (double)total);
}

void progress_amount(struct progress *progress, uint64_t done, uint64_t total)
{
    if (progress->json && total > 0)
        event_amount(progress, done, total);
    if (!progress->terminal || total == 0 || progress->step[0] == '\0')
        return;
    int share = share_of(done, total);
    if (share == progress->shown)
        return;
    progress->shown = share;
    bar_draw(progress);
}

static void rate_draw(const struct progress *progress, uint64_t done, uint64_t total)
{
    char rate[32];
    int64_t elapsed = clock_now() - progress->step_started;
    double come = done > progress->first ? (double)(done - progress->first) : 0;
    double each = come / ((double)elapsed / (double)NANOSECONDS_PER_SECOND);
    if (elapsed < RATE_AFTER || each < 1 || done >= total)
        return;
    fprintf(stderr, ", %s/s, %.0f s left", progress_size_text((uint64_t)each, rate),
            (double)(total - done) / each);
}

void progress_bytes(struct progress *progress, uint64_t done, uint64_t total,
                    const struct progress_part *parts, size_t count)
{
    int64_t now = clock_now();
    if (progress->json && total > 0)
        event_amount(progress, done, total);
    if (!progress->terminal || total == 0 || now - progress->drawn < DRAW_EVERY)
        return;
    if (progress->drawn == 0)
        progress->first = done;
    progress->drawn = now;
    progress->shown = share_of(done, total);
    bar_draw(progress);
    rate_draw(progress, done, total);
    for (size_t i = 0; i < count; i++) {
        char bar[PART_WIDTH + 1], have[32], size[32];
        bar_fill(bar, PART_WIDTH, share_of(parts[i].done, parts[i].total));
        fprintf(stderr, "\n    layer %zu [%s] %s of %s", parts[i].number, bar,
                progress_size_text(parts[i].done, have), progress_size_text(parts[i].total, size));
    }
    if (count > 0)
        fprintf(stderr, "\033[%zuA\r", count);
}

void progress_note(struct progress *progress, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    utf8_make_plain(text, true);
    if (progress->json) {
        event_text(progress, "note", text);
        return;
    }
    fprintf(stderr, "%s%s: %s\n", progress->terminal ? CLEAR : "", progress->name, text);
    if (progress->terminal && progress->step[0] != '\0')
        bar_draw(progress);
}

static void event_done(const struct progress *progress, const struct progress_result *result)
{
    OWNED(buffer_release) struct buffer line = BUFFER(EVENT_MAX);
    struct json_writer *writer = event_begin(progress, &line, "done");
    if (writer == NULL)
        return;
    json_boolean_member(writer, "made", result->made);
    json_key(writer, "seconds");
    json_double(writer, (double)(clock_now() - progress->started) / (double)NANOSECONDS_PER_SECOND);
    json_number_member(writer, "size_bytes", (int64_t)result->size_bytes);
    json_text_member(writer, "created", result->created);
    json_text_member(writer, "summary", result->summary);
    event_end(writer, &line);
}

void progress_done(struct progress *progress, const struct progress_result *result)
{
    char size[32];
    int64_t seconds = (clock_now() - progress->started) / NANOSECONDS_PER_SECOND;
    const char *summary = result->summary != NULL ? result->summary : "";
    progress_close(progress);
    if (progress->json)
        event_done(progress, result);
    else if (result->made)
        progress_note(progress, "done: %s in %lld s%s%s",
                      progress_size_text(result->size_bytes, size), (long long)seconds,
                      summary[0] != '\0' ? "; " : "", summary);
    else
        progress_note(progress, "exists already, made %s%s%s; --force makes it again",
                      result->created, summary[0] != '\0' ? ": " : "", summary);
}

void progress_failed(const struct progress *progress, const struct fault *fault)
{
    if (progress->json)
        event_text(progress, "error", fault->text);
}

void progress_close(struct progress *progress)
{
    if (progress->terminal && progress->step[0] != '\0')
        fputs(CLEAR, stderr);
    progress->step[0] = '\0';
}
