#include "interpreter/result/shown_output.h"

#include "interpreter/base/bounds.h"
#include "interpreter/result/outputs.h"
#include "interpreter/result/screen.h"
#include "sandbox/base/owned.h"

#include <inttypes.h>

/* A shown text with its notes. */
#define TEXT_MAX (4 * SHOWN_MAX)

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* A part of the captured bytes, without the white space at one end or both. */
struct span {
    const char *data;
    size_t length;
};

/* The first line keeps its indentation: it may be the header of a table. */
static struct span strip_blank_lines(struct span span)
{
    struct span kept = span;
    for (size_t i = 0; i < span.length && is_space(span.data[i]); i++) {
        if (span.data[i] == '\n')
            kept = (struct span){span.data + i + 1, span.length - i - 1};
    }
    return kept;
}

static struct span strip_back(struct span span)
{
    while (span.length > 0 && is_space(span.data[span.length - 1]))
        span.length--;
    return span;
}

/* No character is cut in two: continuation bytes at the wrong side of a cut go with it. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static struct span head_of(struct span span, size_t limit)
{
    if (span.length <= limit)
        return span;
    size_t length = limit;
    while (length > 0 && limit - length < 3 && is_continuation(span.data[length]))
        length--;
    return (struct span){span.data, length};
}

static struct span tail_of(struct span span, size_t limit)
{
    if (span.length <= limit)
        return span;
    size_t length = limit;
    while (length > 0 && limit - length < 3 && is_continuation(span.data[span.length - length]))
        length--;
    return (struct span){span.data + span.length - length, length};
}

/* One stream, and where all of it can be read. */
struct shown_source {
    const struct capture *written; /* borrowed */
    const struct capture *capture; /* what is shown of it: the same or `drawn` */
    struct capture drawn;          /* owned */
    uint64_t number;               /* of the output, or 0 */
    const char *stream;
};

static void release_source(struct shown_source *source)
{
    capture_release(&source->drawn);
}

/* To be released in either case. */
static int open_source(struct shown_source *source, enum text_reader reader)
{
    const struct capture *written = source->written;
    uint64_t bytes = written->head.length + written->tail.length;
    if (reader != READER_MODEL || !screen_is_needed(written))
        return 0;
    source->capture = &source->drawn;
    return screen_draw(written, bytes > TEXT_MAX ? bytes : TEXT_MAX, &source->drawn);
}

static int put_cut(struct shown_stream *shown, const struct shown_source *source, struct span head,
                   struct span tail)
{
    int r = buffer_append(&shown->text, head.data, head.length);
    if (r == 0)
        r = buffer_format(&shown->text, "\n[... %" PRIu64 " bytes not shown", shown->cut);
    if (r == 0 && source->number > 0)
        r = buffer_format(&shown->text, "; %s in the resource " OUTPUT_URI_FORMAT,
                          source->written->cut > 0 ? "more of them" : "they are", source->number,
                          source->stream);
    if (r == 0)
        r = buffer_append_text(&shown->text, " ...]\n");
    return r < 0 ? r : buffer_append(&shown->text, tail.data, tail.length);
}

static int show_stream(const struct shown_source *source, size_t limit,
                       struct shown_stream *ret_shown)
{
    const struct capture *capture = source->capture;
    *ret_shown =
        (struct shown_stream){.text = BUFFER(TEXT_MAX), .is_drawn = capture != source->written};
    struct span head = strip_blank_lines((struct span){capture->head.data, capture->head.length});
    struct span tail = strip_back((struct span){capture->tail.data, capture->tail.length});
    uint64_t kept = capture->total - (capture->head.length - head.length) -
                    (capture->tail.length - tail.length);
    bool is_whole = capture->cut == 0 && capture->tail.length == 0;
    if (is_whole) {
        tail = strip_back(head);
        kept = tail.length;
        if (kept <= limit)
            return buffer_append(&ret_shown->text, tail.data, tail.length);
    }
    head = head_of(is_whole ? tail : head, limit / 2);
    tail = tail_of(tail, limit / 2);
    ret_shown->cut = kept - head.length - tail.length;
    return put_cut(ret_shown, source, head, tail);
}

void shown_output_release(struct shown_output *shown)
{
    buffer_release(&shown->out.text);
    buffer_release(&shown->err.text);
}

static size_t share_of(const struct shown_source *source, size_t share)
{
    return source->capture->total < share ? (size_t)source->capture->total : share;
}

int shown_output_make(const struct run_result *result, uint64_t output_number,
                      enum text_reader reader, struct shown_output *ret_shown)
{
    OWNED(release_source)
    struct shown_source out = {.written = &result->out,
                               .capture = &result->out,
                               .number = output_number,
                               .stream = "stdout"};
    OWNED(release_source)
    struct shown_source err = {.written = &result->err,
                               .capture = &result->err,
                               .number = output_number,
                               .stream = "stderr"};
    struct shown_output shown = {0};
    int r = open_source(&out, reader);
    if (r == 0)
        r = open_source(&err, reader);
    if (r < 0)
        return r;
    /* A stream that needs less than its share leaves the rest to the other. */
    size_t for_out = SHOWN_MAX - share_of(&err, SHOWN_STDERR_SHARE);
    size_t for_err = SHOWN_MAX - share_of(&out, for_out);
    r = show_stream(&out, for_out, &shown.out);
    if (r == 0)
        r = show_stream(&err, for_err, &shown.err);
    if (r < 0)
        shown_output_release(&shown);
    else
        *ret_shown = shown;
    return r;
}

bool shown_output_is_partial(const struct shown_output *shown)
{
    return shown->out.cut + shown->err.cut > 0 || shown->out.is_drawn || shown->err.is_drawn;
}
