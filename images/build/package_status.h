/*
 * Rebuilds the package status of an image for the host's apt.
 *
 * The image is untrusted and apt runs unconfined, so no text is passed on unchecked: the status is
 * rebuilt from the fields that the resolver needs, each in a strict form. Dependencies are left
 * out: images lack some on purpose, and apt must not add them.
 *
 * Side: parent.  Source: deb-control(5), dpkg-query(1), deb-version(7).
 */
#ifndef IMAGES_BUILD_PACKAGE_STATUS_H
#define IMAGES_BUILD_PACKAGE_STATUS_H

#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#define PACKAGE_STATUS_PACKAGES_MAX 20000

/*
 * Appends the installed packages of dpkg's `status` to the text. 0; -EINVAL for a package without
 * name, version or architecture, for a field of another form and for too many packages; -ENOMEM.
 */
int package_status_rebuild(const char *status, struct buffer *ret_text, struct fault *fault);

#endif
