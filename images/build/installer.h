/*
 * One program of an image, run as an installer: jailed (jailed.h), with the host's network.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALLER_H
#define IMAGES_BUILD_INSTALLER_H

#include "images/base/progress.h"
#include "images/build/host_settings.h"
#include "images/build/layer_copy.h"
#include "images/store/image.h"
#include "images/unpack/jailed.h"

/* Where to install; borrowed. `settings` may grow: files to show to installers are added to it. */
struct install_site {
    const struct image *image; /* the image below the new layer */
    const char *store;         /* of images, for its room */
    const char *upper;         /* the directory for all written files */
    struct layer_copy
        *copy;   /* NULL; or, where there is no overlay, what installers work on instead */
    const char *scratch;       /* an empty directory of the host */
    const struct image_jail *jail; /* the mounts; its program is filled in */
    struct host_settings *settings;
    struct progress *progress;
};

/* Runs a program of the image on the site. As jailed_program(). */
int installer_run(const struct install_site *site, const char *const *argv, struct fault *fault);

#endif
