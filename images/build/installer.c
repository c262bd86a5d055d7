#include "images/build/installer.h"

int installer_run(const struct install_site *site, const char *const *argv, struct fault *fault)
{
    struct image_jail jail = *site->jail;
    jail.shown = site->settings->files;
    jail.shown_count = site->settings->file_count;
    const struct image_program program = {argv, (const char *const *)site->settings->variables};
    return jailed_program(&jail, &program, fault);
}
