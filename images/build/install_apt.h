/*
 * Debian packages for an image: the host's apt resolves against the package status of the image and
 * downloads, verified (debian.h); dpkg of the image, confined, unpacks and configures them.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALL_APT_H
#define IMAGES_BUILD_INSTALL_APT_H

#include "images/build/install.h"

/* As install_all(), of packages. -ENOENT: the image is not of Debian. */
int install_apt(const char *const *packages, const struct install_site *site, struct fault *fault);

/* Runs a program of the image at the site. As confined_program(). */
int install_program(const struct install_site *site, const char *const *argv, struct fault *fault);

#endif
