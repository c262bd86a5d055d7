/*
 * One program of an image, run as an installer: jailed (jailed.h), with the host's network.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALLER_H
#define IMAGES_BUILD_INSTALLER_H

#include "images/base/progress.h"
#include "images/build/host_settings.h"
#include "images/store/image.h"
#include "images/unpack/jailed.h"

/* Where: borrowed, but `settings`, to which what installers are to see may be added. */
struct install_site {
    const struct image *image; /* whose layers are below */
    const char *upper;         /* the directory for all written files */
    const char *scratch;       /* an empty directory of the host */
    const struct image_jail *jail; /* mounts all that, without programs */
    struct host_settings *settings;
    struct progress *progress;
};

/* Runs a program of the image on the site. As jailed_program(). */
int installer_run(const struct install_site *site, const char *const *argv, struct fault *fault);

#endif
