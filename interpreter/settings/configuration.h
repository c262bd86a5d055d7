/*
 * The configuration file: one JSON object whose keys are settings (see setting.h).
 *
 *     {"memory": "512M", "cpus": 1, "pass_through_env": ["LANG"], "require_cgroup": true}
 *
 * It is the operator's own, and read strictly all the same: what is misspelled would otherwise be a
 * limit that nobody holds. Side: parent.
 */
#ifndef INTERPRETER_SETTINGS_CONFIGURATION_H
#define INTERPRETER_SETTINGS_CONFIGURATION_H

#include "interpreter/settings/setting_table.h"
#include "interpreter/settings/settings.h"
#include "sandbox/base/fault.h"

/*
 * Reads settings->configuration, which must be there then, else config.json below
 * $XDG_CONFIG_HOME/code-sandbox-mcp, which need not; sets what its keys say, and
 * settings->configuration_read to its path.
 * 0; a negative errno with a fault that names the file and, where it is one's, the key: -EINVAL for
 * what it says, others where it cannot be read.
 */
int configuration_read(struct settings *settings, struct fault *fault);

/* What the value of its key must be, for people: "a number of seconds". Static. */
const char *configuration_form(const struct setting *setting);

/*
 * The directory of the usual configuration file; it need not exist. Owned by the caller. 0; -ENOENT:
 * there is no home; -ENOMEM.
 */
int configuration_directory(char **ret_path);

#endif
