/*
 * Installs into an image that is open for writing: with the programs of the image itself, jailed
 * (jailed.h), with the host's network and behind the build profile.
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
    const char *const *run; /* commands for /bin/sh, in their order, after all else */
};

/*
 * Does all of it, in the order of the struct. 0; -EPROTO with the last words of the installer that
 * failed; -EINTR; or another negative errno.
 */
int install_all(const struct installation *installation, const struct install_site *site,
                struct fault *fault);

/*
 * Runs pip alone, with these options; both lists end with NULL. Requirements from a lock, each with
 * a hash, are installed exactly. The output of site->jail gets the installed packages, as such
 * lines. As install_all().
 */
int install_pip(const char *const *options, const char *const *requirements,
                const struct install_site *site, struct fault *fault);

#endif
