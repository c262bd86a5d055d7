/*
 * How to reach workers on other machines.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_FLEET_SETTINGS_H
#define INTERPRETER_SETTINGS_FLEET_SETTINGS_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Of struct settings, where the texts are owned; or a copy, which borrows them. */
struct fleet_settings {
    char *url; /* of the broker; NULL: everything runs here */
    char *pool; /* NULL: the usual one */
    char *credentials, *authority; /* files; or NULL */
    bool may_be_insecure;
    const char *name; /* of a worker, borrowed; or NULL */
};

void fleet_settings_release(struct fleet_settings *fleet);

/* Checks what can be checked here. 0 or -EINVAL with a fault. */
int fleet_settings_check(const struct fleet_settings *fleet, struct fault *fault);

#endif
