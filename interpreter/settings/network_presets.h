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

/* A file that hosts of presets come from, whether it is there or not. 0, or what ends the visits. */
typedef int preset_visit(void *data, const char *path);

/* The presets that rules name, which may be several with commas: a bit for each. */
unsigned network_presets_in(const char *rules);

/* Visits the files of these presets. 0; -ENOMEM; or what a visit returned. */
int network_presets_visit(unsigned presets, preset_visit *visit, void *data);

#endif
