/*
 * How a run ended and what it came up against, in words: for the model that wrote the snippet, which
 * shall know what to do better, and for people.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_OUTCOME_TEXT_H
#define INTERPRETER_RESULT_OUTCOME_TEXT_H

#include "sandbox/network/policy.h"
#include "sandbox/result.h"

#include <stdint.h>

/* Who reads it: what can be done about time depends on it. */
struct outcome_text_reader {
    bool is_model;       /* and not a person with a command line */
    bool has_all_output; /* it was streamed to them */
    int64_t wall_max_ms; /* the most that a model may ask for */
    const struct policy *network; /* borrowed; NULL where the result has no record of the network */
};

/*
 * The end alone, without a newline: "exit code: 1", "killed by SIGSEGV", "timed out after 30 s",
 * "out of memory (limit 512 MiB)". 0 or a negative errno of buffer_append().
 */
int outcome_text_describe(const struct run_result *result, struct buffer *text);

/*
 * To follow the end: a line, with its newline, for each limit that was reached, and each refusal of the network. It
 * says what it is and what to do about it, as far as outcome_text_describe() does not. 0 or a negative errno of
 * buffer_append().
 */
int outcome_text_advise(const struct run_result *result, const struct outcome_text_reader *reader,
                        struct buffer *text);

#endif
