#include "sandbox/limits/outcome.h"

#include <signal.h>

const struct outcome_row *outcome_row(enum run_outcome outcome)
{
    static const struct outcome_row rows[] = {
#define OUTCOME(id, name, exit_status, sentence) {name, exit_status, sentence},
#include "sandbox/limits/outcomes.def"
#undef OUTCOME
    };
    return &rows[outcome];
}

const char *limit_name(enum limit_index limit)
{
    static const char *const names[] = {
#define LIMIT(id, name) name,
#include "sandbox/limits/limits.def"
#undef LIMIT
    };
    return names[limit];
}
