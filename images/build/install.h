/*
 * Installs into an image that is open for writing: with the programs of the image itself, confined
 * (confine.h), with the host's network and behind the build profile.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALL_H
#define IMAGES_BUILD_INSTALL_H

#include "images/build/installer.h"

/* What is to be installed. Lists end with NULL and may be empty; borrowed. */
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
 * Only what pip installs, with these options of pip; both lists end with NULL. Requirements may be
 * those of a lock, each with a hash: then just they are. What came of it goes to the output of
 * site->confined, in lines of that kind. As install_all().
 */
int install_pip(const char *const *options, const char *const *requirements,
                const struct install_site *site, struct fault *fault);

#endif
