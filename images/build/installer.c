#include "images/build/installer.h"

int installer_run(const struct install_site *site, const char *const *argv, struct fault *fault)
{
    struct confined confined = *site->confined;
    confined.files = site->settings->files;
    confined.file_count = site->settings->file_count;
    const struct image_program program = {argv, (const char *const *)site->settings->variables};
    return confined_program(&confined, &program, NULL, fault);
}
