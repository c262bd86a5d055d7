/*
 * What a run left and did not return, in words: for the notes of a result, and for people at `run`.
 *
 * Side: parent.  The names come from the snippet: untrusted.
 */
#ifndef INTERPRETER_RESULT_LEFT_TEXT_H
#define INTERPRETER_RESULT_LEFT_TEXT_H

#include "sandbox/base/buffer.h"
#include "sandbox/result.h"

/* Appends a line, without a newline at the end, for each reason. 0 or a negative errno of buffer_append(). */
int left_text_note(const struct run_left_out *left_out, struct buffer *text);

#endif
