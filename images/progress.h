/*
 * Tells people how a fetch comes along, on stderr: one line that is redrawn with a bar on a
 * terminal, plain lines otherwise.  Side: parent.
 */
#ifndef IMAGES_PROGRESS_H
#define IMAGES_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *name; /* of the image, borrowed */
    bool terminal;
    char step[160]; /* what is being done; "" nothing */
    int shown;      /* tenths of a percent that the bar shows */
    int64_t started; /* clock_now() */
};

void progress_open(struct progress *progress, const char *name);

/* A new step begins: "unpacking 135 packages". */
void progress_step(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How much of the step is done; total 0: unknown. */
void progress_amount(struct progress *progress, uint64_t done, uint64_t total);

/* A line that stays, beside the steps: a note, or the end. */
void progress_note(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes the bar away: before a fault is printed, and at the end. */
void progress_close(struct progress *progress);

/* "366 MB": bytes for people, powers of ten as package managers print them. */
const char *size_for_people(uint64_t bytes, char buffer[32]);

#endif
