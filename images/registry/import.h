/*
 * Makes a root file system of what is on this machine already: an archive (a tar of it, an OCI
 * layout or `docker save`) or a directory (an OCI layout, or the root file system itself).
 *
 * Side: parent; archives are read in confined children.
 */
#ifndef IMAGES_REGISTRY_IMPORT_H
#define IMAGES_REGISTRY_IMPORT_H

#include "images/base/manifest.h"
#include "images/base/progress.h"
#include "images/store/lock.h"
#include "sandbox/base/fault.h"

/* Where an image is made: absolute paths of empty directories, on one file system. */
struct building_site {
    const char *rootfs;
    const char *scratch; /* for what is needed meanwhile */
};

/* What is known of an image beside its files; owned: provenance_release() frees. Empty is {0}. */
struct provenance {
    struct configuration configuration; /* of an image in layers */
    struct lock lock;
};

void provenance_release(struct provenance *provenance);

/*
 * 0; -EBADMSG for what is damaged or hostile; -EFBIG for what is over the maxima of member.h; or
 * another negative errno.
 */
int import_path(const char *path, const struct building_site *site, struct provenance *provenance,
                struct progress *progress, struct fault *fault);

#endif
