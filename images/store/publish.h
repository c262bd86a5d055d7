/*
 * Adds images to the store and removes them: in staging directories, under the lock of their name.
 *
 * STORE/images/.NAME.lock during a fetch or removal of NAME
 *     STORE/images/.building-NAME.XXXXXX   an image that is being made
 *     STORE/images/.removing-NAME.XXXXXX   an image that is being removed
 *
 * The next holder of the lock sweeps the remains of a killed process in the last two; any command
 * that changes the store sweeps layers. image_remove() and image_prune() of store.h use this
 * module, too. Side: parent.
 */
#ifndef IMAGES_STORE_PUBLISH_H
#define IMAGES_STORE_PUBLISH_H

#include "images/store/layer_store.h"
#include "images/store/store.h"

#include <sys/types.h>

/* The lock of one image name. The kernel releases it with its process. */
struct publish_lock {
    int images_fd; /* owned: the directory of all images */
    int fd;        /* owned: the lock file */
    char name[IMAGE_NAME_MAX + 1];
};

#define PUBLISH_LOCK_NONE ((struct publish_lock){.images_fd = -1, .fd = -1})

/*
 * Takes the lock, making the store if it is absent. 0; 1 while another process holds it, whose id
 * goes to ret_holder (0 unknown); or a negative errno.
 */
int publish_lock(const char *store, const char *name, struct publish_lock *ret_lock,
                 pid_t *ret_holder, struct fault *fault);
void publish_unlock(struct publish_lock *lock); /* PUBLISH_LOCK_NONE is fine */

/* Removes leftovers of dead fetches and removals of the locked name. 0 or a negative errno. */
int publish_sweep(const struct publish_lock *lock, struct fault *fault);

#define STORE_STAGING_MAX (IMAGE_NAME_MAX + 32)

/*
 * Makes an empty staging directory, mode 0755, for an image of the locked name;
 * its name goes to `name`. 0 or a negative errno.
 */
int publish_begin(const struct publish_lock *lock, char name[STORE_STAGING_MAX],
                  struct fault *fault);

/* Moves `tree` from the staging directory into the layer. 0 or a negative errno. */
int publish_keep_tree(const struct publish_lock *lock, const char *aside, const char *tree,
                      const struct layer *layer, struct fault *fault);

/*
 * Publishes the image in the staging directory under its name. An older image is exchanged for it
 * in one step, then removed. 0 or a negative errno.
 */
int publish_image(const struct publish_lock *lock, const char *aside, struct fault *fault);

#endif
