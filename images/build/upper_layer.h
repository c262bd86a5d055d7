/*
 * Turns the files written by installers into a layer. They are the upper directory of an overlayfs,
 * and as untrusted as the installers.
 *
 * Removes files that belong to the running sandbox rather than to the image, resets modes to those
 * allowed in a layer, and removes special files except overlayfs whiteouts. Side: parent; the work
 * is done in a jailed child.
 */
#ifndef IMAGES_BUILD_UPPER_LAYER_H
#define IMAGES_BUILD_UPPER_LAYER_H

#include "images/store/store.h"
#include "images/unpack/jailed.h"
#include "sandbox/base/tree.h"

/*
 * Cleans the directory `upper` and stores its size in `layer`. Also removes the empty mount points
 * of `files`. 0; -EFBIG over the maxima of member.h; or another negative errno.
 */
int upper_layer_clean(const char *upper, const struct plan_shown *files, size_t file_count,
                      struct image_layer *layer, struct fault *fault);

/*
 * In a jailed child: as upper_layer_clean(), of all files below the root directory, which stay where they are. 0 and
 * their size, or a negative errno with a fault.
 */
int upper_layer_settle(struct tree_size *ret_size, struct fault *fault);

/*
 * In a jailed child: removes the empty mount points of shown files, and parent directories that
 * become empty.
 */
void upper_layer_forget_shown(const struct plan_shown *files, size_t file_count);

#endif
