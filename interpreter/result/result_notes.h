/*
 * The notes of a result: lines about everything except the program's output. Their order is decided here.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_RESULT_NOTES_H
#define INTERPRETER_RESULT_RESULT_NOTES_H

#include "interpreter/result/result_view.h"
#include "sandbox/base/buffer.h"

/*
 * Appends the lines of the end of a failed run: how it ended, and then what to do about it. Without a newline at the
 * end; 0 or a negative errno.
 */
int result_notes_compose_end(const struct result_view *view, struct buffer *text);

/* Appends the other lines, if any, without a newline at the end. 0 or a negative errno. */
int result_notes_compose(const struct result_view *view, struct buffer *text);

#endif
