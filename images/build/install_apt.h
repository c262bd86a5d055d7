/*
 * Debian packages for an image: the host's apt resolves against the package status of the image and
 * downloads, verified (debian.h); dpkg of the image, jailed, unpacks and configures them.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALL_APT_H
#define IMAGES_BUILD_INSTALL_APT_H

#include "images/build/installer.h"

/* Installs packages. Returns like install_all(); -ENOENT: not a Debian image. */
int install_apt(const char *const *packages, const struct install_site *site, struct fault *fault);

#endif
