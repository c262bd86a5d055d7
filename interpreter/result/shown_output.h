/*
 * What a result shows of stdout and stderr: bounded, with what was printed never lost silently.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_SHOWN_OUTPUT_H
#define INTERPRETER_RESULT_SHOWN_OUTPUT_H

#include "sandbox/base/buffer.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stdint.h>

/* One stream, cut to what is shown. */
struct shown_stream {
    struct buffer text; /* owned */
    uint64_t cut; /* bytes of the stream that are not in it; of the drawing, if it is drawn */
    bool is_drawn; /* redraws and terminal codes are left out: screen.h */
};

/* Who reads it. */
enum text_reader {
    READER_MODEL, /* as a terminal shows it */
    READER_PROGRAM, /* as it was written */
};

struct shown_output {
    struct shown_stream out, err;
};

void shown_output_release(struct shown_output *shown);

/*
 * Takes SHOWN_MAX bytes of both streams: the head and the tail of each, with a line between that
 * tells what was cut, and where it is: the resource of that number (outputs.h), if it is not 0.
 * Blank lines at both ends and white space behind the last line are taken off. 0 or -ENOMEM.
 */
int shown_output_make(const struct run_result *result, uint64_t output_number,
                      enum text_reader reader, struct shown_output *ret_shown);

/* Whether any of the output is not in the text. */
bool shown_output_is_partial(const struct shown_output *shown);

#endif
