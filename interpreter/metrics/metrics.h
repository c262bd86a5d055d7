/*
 * Counts of runs for monitoring, and their text in the OpenMetrics format.
 *
 * Only this module decides what is counted: languages, outcomes, limits and times; nothing of a snippet.
 *
 * Side: parent.  Source: OpenMetrics 1.0.
 */
#ifndef INTERPRETER_METRICS_METRICS_H
#define INTERPRETER_METRICS_METRICS_H

#include "interpreter/languages/language.h"
#include "sandbox/base/buffer.h"
#include "sandbox/result.h"
#include "sandbox/session_spec.h"

#include <stdint.h>

#define METRICS_TEXT_MAX (256 * KIBIBYTE)
#define METRICS_BUCKETS 14 /* upper bounds of histograms; a last one has none */

/* Why a call did not run. */
enum not_run {
    NOT_RUN_REFUSED,   /* wrong arguments, no image, too many wait */
    NOT_RUN_POLICY,    /* the rules of --policy */
    NOT_RUN_FAILED,    /* the sandbox failed */
    NOT_RUN_CANCELLED, /* or it was ended by the client before its end */
    NOT_RUN_COUNT
};

/* "refused by --policy", for a log. */
const char *not_run_words(enum not_run reason);

struct metrics_histogram {
    uint64_t counts[METRICS_BUCKETS + 1]; /* of each bucket alone */
    int64_t sum_ns;
};

/* All zero: nothing has been counted. */
struct metrics {
    uint64_t runs[LANGUAGES_MAX][OUTCOME_COUNT];
    uint64_t not_run[NOT_RUN_COUNT];
    uint64_t limits[LIMIT_COUNT];
    struct metrics_histogram run_time, queue_time;
    uint64_t commands[OUTCOME_COUNT]; /* of sessions */
    uint64_t commands_not_run[NOT_RUN_COUNT];
    struct metrics_histogram command_time;
};

/* What is true at the moment. */
struct metrics_now {
    uint64_t places; /* for runs at once */
    uint64_t running, queued;
};

void metrics_count_run(struct metrics *metrics, const struct language *language,
                       const struct run_result *result);
void metrics_count_not_run(struct metrics *metrics, enum not_run reason);
void metrics_count_command(struct metrics *metrics, const struct command_result *result);
void metrics_count_command_not_run(struct metrics *metrics, enum not_run reason);

/* Appends the text, complete with its end. 0, -ENOBUFS or -ENOMEM. */
int metrics_write(const struct metrics *metrics, const struct metrics_now *now,
                  struct buffer *text);

#endif
