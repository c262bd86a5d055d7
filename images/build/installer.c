#include "images/build/installer.h"

#include "sandbox/base/owned.h"

#include <string.h>

/*
 * Without a user namespace stat(2) shows the real owner of files, while getuid(2) says root: git takes every working copy
 * for somebody else's.
 */
static const char *const trusted_by_git[] = {
    "GIT_CONFIG_COUNT=1",
    "GIT_CONFIG_KEY_0=safe.directory",
    "GIT_CONFIG_VALUE_0=*",
    NULL,
};

int installer_run(const struct install_site *site, const char *const *argv, struct fault *fault)
{
    const struct host_settings *settings = site->settings;
    const char *variables[HOST_VARIABLES_MAX + ARRAY_LENGTH(trusted_by_git)];
    memcpy(variables, settings->variables, (settings->variable_count + 1) * sizeof(*variables));
    if (!image_plan_has_mounts())
        memcpy(&variables[settings->variable_count], trusted_by_git, sizeof(trusted_by_git));
    struct image_jail jail = *site->jail;
    jail.shown = settings->files;
    jail.shown_count = settings->file_count;
    const struct image_program program = {argv, variables};
    return jailed_program(&jail, &program, fault);
}
