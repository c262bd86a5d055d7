/*
 * The package status of an image, made fit for the host's apt.
 *
 * The image is untrusted and apt runs unconfined, so nothing is passed on as it stands: the status is
 * written anew from the fields that the resolver needs, each of a plain form. Dependencies are left
 * out, because packages of the image that are missing some on purpose are to stay as they are.
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
