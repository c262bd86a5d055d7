/*
 * Copies a directory of the host into the tree at the working directory, by the rules of member.h.
 *
 * Side: jailed child.
 */
#ifndef IMAGES_UNPACK_COPY_H
#define IMAGES_UNPACK_COPY_H

#include "images/unpack/member.h"
#include "sandbox/base/fault.h"

/*
 * Copies the contents of the directory, without following links and without mounts below it. 0;
 * -EFBIG over the maxima of member.h; or another negative errno.
 */
int copy_directory(int directory_fd, struct tree_usage *usage, struct fault *fault);

#endif
