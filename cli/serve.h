/*
 * The steps of `serve`, for the two programs that have it.
 *
 * Side: parent.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "cli/command.h"
#include "interpreter/settings/settings.h"

/*
 * Reads the settings from everywhere. 0; 1: the command is done, and *ret_status is to be returned. `settings`
 * must be released in either case.
 */
int serve_read(const struct command *command, int argc, char **argv, struct settings *settings,
               int *ret_status);

/* Opens the log, chooses the tier and serves with `run`. Returns the exit status. */
int serve_run(const struct command *command, struct settings *settings,
              int (*run)(const struct settings *settings, struct fault *fault));

#endif
