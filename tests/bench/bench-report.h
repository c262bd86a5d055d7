/*
 * The results of a benchmark: samples, their medians and quartiles, a table and a JSON file.
 *
 * Side: parent.
 */
#ifndef TESTS_BENCH_BENCH_REPORT_H
#define TESTS_BENCH_BENCH_REPORT_H

#include "sandbox/base/fault.h"
#include "sandbox/limits/enforcement.h"

#include <stddef.h>
#include <stdint.h>

/* One thing that was measured, once in each round. */
struct bench_row {
    const char *name;  /* for programs */
    const char *label; /* for people */
    int64_t *samples; /* nanoseconds, in the order of the rounds; NULL: it could not be measured */
};

struct bench_report {
    const char *title; /* what was done in each round */
    const struct bench_row *rows; /* the first is what the others are multiples of */
    size_t row_count;
    size_t rounds;
    const struct engine_enforcement *enforcement;
};

/* The table, on stdout. */
int bench_report_print(const struct bench_report *report, struct fault *fault);

/* The same and more of it, as one JSON object, to a new file. 0 or a negative errno with a fault. */
int bench_report_write(const struct bench_report *report, const char *path, struct fault *fault);

#endif
