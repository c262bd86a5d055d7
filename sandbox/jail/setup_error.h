/*
 * Explains a failed jail step in one sentence: the step, its object, the cause, the remedy.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_SETUP_ERROR_H
#define SANDBOX_JAIL_SETUP_ERROR_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/parcel.h"

/* Fills the fault for a record of kind REPORT_FAILED; returns its negative errno. */
int setup_error_explain(const struct jail_plan *plan, const struct child_report *report,
                        struct fault *fault);

/* The same of a run, whose parcel has the names of the input files. */
int setup_error_explain_run(const struct jail_plan *plan, const struct child_report *report,
                            const struct parcel *parcel, struct fault *fault);

/* The same for clone3 itself, with `error` its errno. */
int setup_error_explain_clone(int error, struct fault *fault);

/* The step that an id of a fault names, or STEP_BEFORE. */
unsigned setup_error_step(const char *id);

#endif
