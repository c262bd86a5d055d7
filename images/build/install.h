/*
 * Installs into a writable image with the image's own programs, jailed (jailed.h), with the host's
 * network and the build profile.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALL_H
#define IMAGES_BUILD_INSTALL_H

#include "images/build/installer.h"

/* What to install. Lists end with NULL and may be empty; borrowed. */
struct installation {
    const char *const *apt; /* Debian packages */
    const char *const *pip; /* requirements, as pip writes them */
    const char *const *npm; /* packages, as npm writes them */
    const char *const *run; /* commands for /bin/sh, run in order after everything else */
};

/*
 * Installs everything, in the order of the struct. 0; -EPROTO: an installer failed, the fault has
 * the end of its output; -EINTR; or another negative errno.
 */
int install_all(const struct installation *installation, const struct install_site *site,
                struct fault *fault);

/*
 * Runs only pip, with these options; NULL terminates both lists. Requirements from a lock, each
 * with a hash, are installed exactly. site->jail->output receives the installed packages in the
 * same form. Returns like install_all().
 */
int install_pip(const char *const *options, const char *const *requirements,
                const struct install_site *site, struct fault *fault);

#endif
