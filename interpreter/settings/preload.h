/*
 * The names of the modules that prewarmed sandboxes have imported before their code comes (--preload).
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_PRELOAD_H
#define INTERPRETER_SETTINGS_PRELOAD_H

#include "sandbox/base/fault.h"

/* Whether `modules` are names of modules separated by commas. 0; -EINVAL with a fault. */
int preload_check(const char *what, const char *modules, struct fault *fault);

#endif
