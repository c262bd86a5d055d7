/*
 * The ways in which a run can end, and the limits that it can reach: outcomes.def and limits.def.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_OUTCOME_H
#define SANDBOX_LIMITS_OUTCOME_H

enum run_outcome {
#define OUTCOME(id, name, exit_status, sentence) OUTCOME_##id,
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    OUTCOME_COUNT
};

/* A row of outcomes.def. */
struct outcome_row {
    const char *name;
    int exit_status;
    const char *sentence;
};

const struct outcome_row *outcome_row(enum run_outcome outcome);

enum limit_index {
#define LIMIT(id, name) LIMIT_##id,
#include "sandbox/limits/limits.def"
#undef LIMIT
    LIMIT_COUNT
};

/* A set of limits, as bits. */
enum limit_reached {
#define LIMIT(id, name) REACHED_##id = 1 << LIMIT_##id,
#include "sandbox/limits/limits.def"
#undef LIMIT
};

const char *limit_name(enum limit_index limit);

#endif
