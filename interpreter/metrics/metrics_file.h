/*
 * The file of --metrics-file: replaced as a whole a few seconds after something was counted, so that its reader,
 * such as the textfile collector of node_exporter, always finds a complete one.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_METRICS_METRICS_FILE_H
#define INTERPRETER_METRICS_METRICS_FILE_H

#include "interpreter/metrics/metrics.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>

#define METRICS_PAUSE_MS 5000

struct metrics_file {
    struct metrics metrics;
    /* Set by the owner before it is opened. */
    struct loop *loop; /* borrowed */
    const char *path;  /* borrowed; NULL: nothing is written */
    void (*look)(void *data, struct metrics_now *ret_now);
    void *data;
    /* Private. */
    struct loop_timer timer;
    bool has_failed; /* which is told once */
};

/* Writes the file: a mistake in its name is not to wait for the first run. 0 or a negative errno with its fault. */
int metrics_file_open(struct metrics_file *file, struct fault *fault);

/* Writes it for the last time, with the counts of all and no places. Also where it was never opened. */
void metrics_file_close(struct metrics_file *file);

/* As of metrics.h; the file follows. */
void metrics_file_count_run(struct metrics_file *file, const struct language *language,
                            const struct run_result *result);
void metrics_file_count_not_run(struct metrics_file *file, enum not_run reason);
void metrics_file_count_command(struct metrics_file *file, const struct command_result *result);
void metrics_file_count_command_not_run(struct metrics_file *file, enum not_run reason);

#endif
