#include "sandbox/limits/outcome.h"

#include <signal.h>

const char *outcome_name(enum run_outcome outcome)
{
    static const char *const names[] = {
#define OUTCOME(id, name, exit_status, ...) name,
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    };
    return names[outcome];
}

int outcome_exit_status(enum run_outcome outcome)
{
    static const int statuses[] = {
#define OUTCOME(id, name, exit_status, ...) exit_status,
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    };
    return statuses[outcome];
}

const char *outcome_limit_name(enum limit_index limit)
{
    static const char *const names[] = {
#define LIMIT(id, name, ...) name,
#include "sandbox/limits/limits.def"
#undef LIMIT
    };
    return names[limit];
}

enum run_outcome outcome_of_limit(enum limit_index limit)
{
    static const enum run_outcome outcomes[] = {
#define LIMIT(id, name, outcome) OUTCOME_##outcome,
#include "sandbox/limits/limits.def"
#undef LIMIT
    };
    return outcomes[limit];
}
