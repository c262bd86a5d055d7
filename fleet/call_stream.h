/*
 * Many calls, a line of JSON each, from one descriptor, and their results to another: the engine of
 * `batch`.
 *
 * It reads no further than CALLS_AHEAD_MAX lines beyond what runs, and not at all while results wait to
 * be written; so its memory does not grow with the number of lines. A worker reads on: it gets no more calls than it
 * has places. Results come in the order in which the calls end, or in that of the lines.
 *
 * Side: parent.
 */
#ifndef FLEET_CALL_STREAM_H
#define FLEET_CALL_STREAM_H

#include "fleet/call_run.h"
#include "interpreter/base/channel.h"

#define CALLS_AHEAD_MAX 64
#define CALLS_ELSEWHERE_MAX 256 /* on the way to workers, or there, unless --parallel says so */
#define CALLS_AHEAD_BYTES_MAX (32 * MEBIBYTE) /* of their lines; less than RUNS_QUEUED_BYTES_MAX */

struct call_counts {
    uint64_t lines; /* read */
    uint64_t ran; /* whatever the programs did */
    uint64_t not_run; /* results that are errors */
    uint64_t lost; /* that may have run */
    uint64_t skipped; /* as `is_done` said */
};

struct call_stream_options {
    const struct settings *settings; /* borrowed; without sessions */
    const struct fleet_settings *fleet; /* borrowed; without an address, calls run here */
    bool
        is_worker; /* the input may cancel calls, and everything ends with it; sandboxes are prewarmed */
    int input_fd, output_fd; /* borrowed */
    bool ordered; /* results in the order of the lines */
    /* Whether the result of a call, by its id as JSON text, is there already; NULL: of none. */
    bool (*is_done)(void *data, const struct buffer *id);
    void (*ended)(void *data); /* once: every result has been written, or none can be any more */
    void *data;
};

struct stream_call;

/* It stays where it is, from open to close. */
struct call_stream {
    struct call_stream_options options;
    struct loop *loop; /* borrowed */
    struct channel channel;
    struct channel_observer observer;
    struct call_site site;
    struct call_counts counts;
    struct stream_call *first, *last; /* owned: calls without a written result, in order */
    size_t in_progress; /* of them: those that have not ended */
    size_t ahead_bytes; /* of their lines */
    size_t ended_bytes; /* of results that wait for earlier ones */
    size_t ahead_max;
    bool is_finishing; /* call_stream_finish() */
    bool has_ended; /* nothing more happens */
    bool has_failed; /* a result is missing, for lack of memory */
    struct loop_timer end;
};

/* To be closed in any case. 0 or a negative errno with its fault. */
int call_stream_open(struct call_stream *stream, struct loop *loop,
                     const struct call_stream_options *options, struct fault *fault);
void call_stream_close(struct call_stream *stream);

/* Reads no more and starts no more; what runs comes to its end and is written. */
void call_stream_finish(struct call_stream *stream);

#endif
