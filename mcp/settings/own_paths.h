/*
 * The files that the server itself reads, writes and executes, which no snippet may change.
 *
 * Side: parent.
 */
#ifndef MCP_SETTINGS_OWN_PATHS_H
#define MCP_SETTINGS_OWN_PATHS_H

#include "mcp/settings/settings.h"
#include "sandbox/base/fault.h"

/*
 * Whether all of them are outside of the folders that snippets write to: the value of each setting that is a
 * path, with every link on the way, and this program. 0; -EPERM with a fault that names the setting, the folder
 * and the remedy; -ENOMEM.
 */
int own_paths_check(const struct settings *settings, struct fault *fault);

#endif
