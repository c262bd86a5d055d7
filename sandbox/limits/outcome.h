/*
 * The ways in which a run can end, and the limits that it can reach: outcomes.def and limits.def.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_OUTCOME_H
#define SANDBOX_LIMITS_OUTCOME_H

enum run_outcome {
#define OUTCOME(id, name, exit_status, ...) OUTCOME_##id,
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    OUTCOME_COUNT
};

/* Columns of outcomes.def. */
const char *outcome_name(enum run_outcome outcome);
int outcome_exit_status(enum run_outcome outcome);

enum limit_index {
#define LIMIT(id, name, ...) LIMIT_##id,
#include "sandbox/limits/limits.def"
#undef LIMIT
    LIMIT_COUNT
};

/* A set of limits, as bits. */
enum limit_reached {
#define LIMIT(id, name, ...) REACHED_##id = 1 << LIMIT_##id,
#include "sandbox/limits/limits.def"
#undef LIMIT
};

/* Columns of limits.def. */
const char *outcome_limit_name(enum limit_index limit);
enum run_outcome outcome_of_limit(enum limit_index limit);

#endif
