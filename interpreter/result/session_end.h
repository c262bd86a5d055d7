/*
 * How a session ended, in words for the table of sessions.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_RESULT_SESSION_END_H
#define INTERPRETER_RESULT_SESSION_END_H

#include "interpreter/session_table.h"
#include "sandbox/result.h"

/* As session_observer.ended; `data` is the struct session_entry. */
void session_end_note(void *data, int status, const struct run_result *result,
                      const struct fault *fault);

#endif
