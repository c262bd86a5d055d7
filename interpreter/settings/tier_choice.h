/*
 * Which tier the sandboxes of this process are of: decided once, before the first, so that none falls to a
 * weaker one later.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_TIER_CHOICE_H
#define INTERPRETER_SETTINGS_TIER_CHOICE_H

#include "interpreter/settings/settings.h"
#include "sandbox/host_probe.h"

/*
 * Sets settings->engine.tier: the strongest that the host allows, settings->weakest at the least. Tells it and
 * the cause in the log if it is weaker than TIER_F. Where the host allows none, runs are refused one by one.
 */
void tier_choose(struct settings *settings);

/* Sets the tier found, and where its sandboxes have their roots. 0, or a negative errno with a fault. */
int tier_set(struct settings *settings, const struct host_finding *host, struct fault *fault);

#endif
