/*
 * Makes a layer of what installers wrote: the upper directory of an overlayfs, as hostile as they.
 *
 * What belongs to the running of a sandbox and not to the image is taken out; of files only modes
 * that a layer may have stay, of special ones only the whiteouts of overlayfs.
 * Side: parent; the work is done in a jailed child.
 */
#ifndef IMAGES_BUILD_UPPER_LAYER_H
#define IMAGES_BUILD_UPPER_LAYER_H

#include "images/store/store.h"
#include "images/unpack/jailed.h"

/*
 * Cleans the directory `upper`, and gives its size to `layer`. The places of `files`, if they are
 * empty, go as well. 0; -EFBIG over the maxima of member.h; or another negative errno.
 */
int upper_layer_clean(const char *upper, const struct plan_shown *files, size_t file_count,
                      struct image_layer *layer, struct fault *fault);

/*
 * In a jailed child: removes the places of files that were shown, if they are empty, and what is
 * empty then above them.
 */
void upper_layer_forget_shown(const struct plan_shown *files, size_t file_count);

#endif
