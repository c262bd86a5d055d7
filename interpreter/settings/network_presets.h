/*
 * Rules by one word: "@python" for the hosts of the package index that this machine's pip uses, and so on.
 *
 * Side: parent. Source: pip's "Configuration"; npmrc(5); sources.list(5).
 */
#ifndef INTERPRETER_SETTINGS_NETWORK_PRESETS_H
#define INTERPRETER_SETTINGS_NETWORK_PRESETS_H

#include "sandbox/base/fault.h"
#include "sandbox/network/policy.h"

/*
 * Adds the hosts of a preset as rules of the list. Settings that cannot be read, and addresses in them that
 * are no http or https URL, are passed over. 0; or -EINVAL with a fault that lists the presets, or -ENOMEM.
 */
int network_preset_add(struct policy *policy, enum rule_list list, const char *preset,
                       struct fault *fault);

#endif
