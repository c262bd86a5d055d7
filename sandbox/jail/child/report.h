/*
 * The child's end of the control socket: it sends reports and receives the parent's words.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_REPORT_H
#define SANDBOX_JAIL_CHILD_REPORT_H

#include "sandbox/jail/child/jail_plan.h"

#define EXIT_SETUP_FAILED 125

/* 0, or a negative errno; the parent treats the end of the stream without a record as a failure. */
int report_write(const struct jail_plan *plan, const struct child_report *report);

/* Sends an otherwise empty record of this kind. */
int report_kind(const struct jail_plan *plan, enum report_kind kind);

/*
 * Waits for the parent's next message. 0; -EPIPE if it has another word, or the parent is gone.
 */
int report_await_word(const struct jail_plan *plan, enum parent_word word,
                      struct parent_message *ret_message);

/*
 * For functions on a stack of their own that do not return: AddressSanitizer would look for its limits,
 * find others and say so on stderr.
 */
#define STACK_OF_ITS_OWN __attribute__((no_sanitize_address))

/* Reports that `step` failed with `error` (positive errno) on its object `index`, and exits. */
STACK_OF_ITS_OWN void report_failure(const struct jail_plan *plan, enum jail_step step, int error,
                                     int index) __attribute__((noreturn));

#endif
