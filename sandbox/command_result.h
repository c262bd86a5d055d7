/*
 * How a command of a session ended; what it printed comes from elsewhere.
 *
 * Side: parent.  Source: wait4(2).
 */
#ifndef SANDBOX_COMMAND_RESULT_H
#define SANDBOX_COMMAND_RESULT_H

#include "sandbox/jail/child/report.h"
#include "sandbox/session_spec.h"

/* From REPORT_COMMAND_ENDED. */
void command_result_read(const struct child_report *report, struct command_result *ret_result);

/* It was stopped so, however it ended. */
void command_result_stop(enum run_outcome outcome, struct command_result *result);

/* Its session has ended so, and it with that. */
void command_result_lose(enum run_outcome outcome, struct command_result *ret_result);

void command_result_release(struct command_result *result);

#endif
