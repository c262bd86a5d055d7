/*
 * Makes a root file system from an image in a registry.
 *
 * Side: parent; layers are unpacked in a jailed child.
 * Source: OCI distribution-spec 1.1, "Pull".
 */
#ifndef IMAGES_REGISTRY_PULL_H
#define IMAGES_REGISTRY_PULL_H

#include "images/base/progress.h"
#include "images/base/reference.h"
#include "images/registry/source.h"
#include "sandbox/base/fault.h"

struct pull {
    const char *store; /* where downloads are kept */
    const struct reference *reference;
    const char *rootfs; /* host path of an empty directory; NULL: only download, keep the files */
    struct progress *progress;
};

/*
 * 0; -ENOENT: the registry does not have the image, or not for this machine; -EACCES: no access;
 * -EHOSTUNREACH; -EBADMSG for damaged or hostile content; -EINTR; or another negative errno. Each
 * fault says what to do.
 */
int pull_image(const struct pull *pull, struct provenance *provenance, struct fault *fault);

#endif
