/*
 * A failed step of the jail, as a sentence: the step, its object, the cause, the remedy.
 *
 * Side: parent.
 */
#ifndef SANDBOX_STEP_H
#define SANDBOX_STEP_H

#include "sandbox/base/fault.h"
#include "sandbox/child/plan.h"

/* Fills the fault for a record of kind REPORT_FAILED; returns its negative errno. */
int step_explain(const struct jail_plan *plan, const char *image, const struct child_report *report,
                 struct fault *fault);

/* The same for clone3 itself, with `error` its errno. */
int step_explain_clone(int error, struct fault *fault);

#endif
