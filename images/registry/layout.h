/*
 * Images in a directory: an OCI image layout, or what a `docker save` archive holds.
 *
 * The directory may come from an archive: names in it are resolved inside it, whatever links it has.
 *
 * Side: parent.  Source: OCI image-spec, image-layout.md; docker_archive.h.
 */
#ifndef IMAGES_REGISTRY_LAYOUT_H
#define IMAGES_REGISTRY_LAYOUT_H

#include "images/base/manifest.h"
#include "images/base/progress.h"
#include "images/store/lock.h"
#include "images/unpack/layers.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* Whether the directory looks like one of the two. */
bool layout_is_there(int directory_fd);

/*
 * Gives the layers of its image for this machine to the child, each checked, and its configuration
 * to the caller, who owns it. 0; -EBADMSG for content that has not the digest or the size that is
 * said of it; an error of document_read() or image_configuration_read(); or another negative errno.
 */
int layout_unpack(int directory_fd, struct layers *layers, struct configuration *ret_configuration,
                  struct lock *lock, struct fault *fault);

#endif
