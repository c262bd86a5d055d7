/*
 * Paths of the operator that begin with ~: shells expand it only where a word begins, clients that start
 * the server not at all.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_HOME_PATH_H
#define INTERPRETER_SETTINGS_HOME_PATH_H

#include "sandbox/base/fault.h"

/*
 * Replaces *path (owned, or NULL) by a copy of `value`, in which "~" or "~/" at the beginning is the home
 * directory. A file of that name is "./~". `what` is how a fault calls it. 0; -EINVAL for ~NAME or without
 * a home; -ENOMEM. *path is untouched on failure.
 */
int home_path_expand(const char *what, const char *value, char **path, struct fault *fault);

#endif
