/*
 * Progress of a fetch. For people, on stderr: on a terminal a status line with a bar, and a line
 * for each layer being downloaded; plain lines otherwise. For programs, on stdout, one JSON event
 * per line:
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
    char step[160]; /* the current step; "": none */
    int shown;      /* tenths of a percent that the bar shows */
    int64_t started; /* clock_now() */
    int64_t step_started;
    int64_t drawn;  /* when the parts were last drawn */
    uint64_t first; /* bytes already present when the step began */
};

void progress_open(struct progress *progress, const char *name, bool json);

/* A new step begins: "unpacking 135 packages". */
void progress_step(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The progress of the step; total 0: unknown. */
void progress_amount(struct progress *progress, uint64_t done, uint64_t total);

/* One of several parallel downloads. */
struct progress_part {
    size_t number; /* from 1 */
    uint64_t done, total; /* bytes */
};

/* The progress of a step in bytes: a bar with rate and time left, and a bar for each part. */
void progress_bytes(struct progress *progress, uint64_t done, uint64_t total,
                    const struct progress_part *parts, size_t count);

/* Prints a permanent line: a note, or the final result. */
void progress_note(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The finished image, as in its record; borrowed. */
struct progress_result {
    bool made; /* by this command; false: it existed before */
    uint64_t size_bytes;
    const char *created;
    const char *summary; /* may be NULL */
};

void progress_done(struct progress *progress, const struct progress_result *result);

/* Writes the event for a fault; for people, the caller prints the fault. */
void progress_failed(const struct progress *progress, const struct fault *fault);

/* Removes the bar: before a fault is printed, and at the end. */
void progress_close(struct progress *progress);

/* "366 MB": bytes for people, powers of ten as package managers print them. */
const char *progress_size_text(uint64_t bytes, char buffer[32]);

#endif
