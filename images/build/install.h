/*
 * Installs into an image that is open for writing: with the programs of the image itself, confined
 * (confine.h), with the host's network and behind the build profile.
 *
 * Side: parent.
 */
#ifndef IMAGES_BUILD_INSTALL_H
#define IMAGES_BUILD_INSTALL_H

#include "images/base/progress.h"
#include "images/build/host_settings.h"
#include "images/store/store.h"
#include "images/unpack/confine.h"

/* What is to be installed. Lists end with NULL and may be empty; borrowed. */
struct installation {
    const char *const *apt; /* Debian packages */
    const char *const *pip; /* requirements, as pip writes them */
    const char *const *npm; /* packages, as npm writes them */
    const char *const *run; /* commands for /bin/sh, in their order, after all else */
};

/* Where: borrowed, but `settings`, to which what installers are to see may be added. */
struct install_site {
    const struct image *image; /* whose layers are below */
    const char *upper;         /* the directory that gets what is written */
    const char *scratch;       /* an empty directory of the host */
    const struct confined *confined; /* mounts all that, without programs */
    struct host_settings *settings;
    struct progress *progress;
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
