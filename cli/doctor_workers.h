/*
 * `doctor --workers`: the workers of a pool, and whether they have the images that are here.
 *
 * Side: parent.
 */
#ifndef CLI_DOCTOR_WORKERS_H
#define CLI_DOCTOR_WORKERS_H

#include "interpreter/settings/settings.h"

#include <stdbool.h>

/* Prints a report, or one JSON object. The exit status: EXIT_DONE if a worker can run a language. */
int doctor_workers(const struct settings *settings, bool json);

#endif
