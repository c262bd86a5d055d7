/*
 * The time that a part of the work may take: mostly the processor's, so that a busy machine costs nobody a patch;
 * and, where a file system keeps it waiting, that of the clock.
 *
 * Side: code-sandbox-mcp-changes.
 */
#ifndef INTERPRETER_CHANGES_BUDGET_H
#define INTERPRETER_CHANGES_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    int64_t processor_end, wall_end; /* nanoseconds */
};

/* CHANGES_STEP_CPU_MS and CHANGES_STEP_WALL_MS from now on. */
struct budget budget_begin(void);
bool budget_is_spent(const struct budget *budget);

#endif
