/*
 * Tells people how a fetch comes along, on stderr: a line that is redrawn with a bar on a terminal,
 * with a line for each layer that comes; plain lines otherwise. Programs are told on stdout, an event
 * of JSON in each line:
 *
 *     {"event":"step","image":"python","text":"unpacking 136 packages"}
 *     {"event":"progress","image":"python","done":1,"total":2}     bytes, or things
 *     {"event":"note","image":"python","text":"..."}
 *     {"event":"done","image":"python","made":true,"seconds":1.5,"size_bytes":1,"created":"...","summary":"..."}
 *     {"event":"error","image":"python","text":"..."}
 *
 * Side: parent.
 */
#ifndef IMAGES_BASE_PROGRESS_H
#define IMAGES_BASE_PROGRESS_H

#include "sandbox/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *name; /* of the image, borrowed */
    bool terminal;
    bool json; /* events on stdout, nothing on stderr */
    char step[160]; /* what is being done; "" nothing */
    int shown;      /* tenths of a percent that the bar shows */
    int64_t started; /* clock_now() */
    int64_t step_started;
    int64_t drawn;  /* when the parts were last drawn */
    uint64_t first; /* bytes that were there when the step began */
};

void progress_open(struct progress *progress, const char *name, bool json);

/* A new step begins: "unpacking 135 packages". */
void progress_step(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How much of the step is done; total 0: unknown. */
void progress_amount(struct progress *progress, uint64_t done, uint64_t total);

/* One of several things that come at the same time. */
struct progress_part {
    size_t number; /* from 1 */
    uint64_t done, total; /* bytes */
};

/* A step that is counted in bytes: a bar with rate and time left, and one for each part. */
void progress_bytes(struct progress *progress, uint64_t done, uint64_t total,
                    const struct progress_part *parts, size_t count);

/* A line that stays, beside the steps: a note, or the end. */
void progress_note(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The finished image, as its record has it; borrowed. */
struct progress_result {
    bool made; /* by this command; false: it existed before */
    uint64_t size_bytes;
    const char *created;
    const char *summary; /* may be NULL */
};

void progress_done(struct progress *progress, const struct progress_result *result);

/* An event of the fault, which people are told by the caller. */
void progress_failed(const struct progress *progress, const struct fault *fault);

/* Takes the bar away: before a fault is printed, and at the end. */
void progress_close(struct progress *progress);

/* "366 MB": bytes for people, powers of ten as package managers print them. */
const char *progress_size_text(uint64_t bytes, char buffer[32]);

#endif
