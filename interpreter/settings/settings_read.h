/*
 * Where settings come from: the configuration, the variables, the command line.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_SETTINGS_READ_H
#define INTERPRETER_SETTINGS_SETTINGS_READ_H

#include "interpreter/settings/settings.h"

/*
 * Reads every source, weakest first, and checks the whole. Of the variables that are meant for
 * other programs too (PASSTHROUGH_ENV, CONTAINER_IMAGE, CONTAINER_LANGUAGE, BACKEND), what cannot
 * be heeded is noted on stderr and is no error; so is an option that does nothing without another one.
 * 0; -EINVAL or another negative errno with a fault that names the option, variable or key.
 */
int settings_read(struct settings *settings, struct fault *fault);

/* What only matters to a server. As settings_read(), and after it. */
int settings_read_check_server(const struct settings *settings, struct fault *fault);

/*
 * For a command with --workers: checks it, also beside the other settings, and turns off what only sandboxes
 * here have. 0 or -EINVAL with a fault.
 */
int settings_read_workers(struct settings *settings, struct fault *fault);

#endif
