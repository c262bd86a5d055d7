/*
 * Images in use by runs. Their layers are held, so that they stay until the last run has ended.
 *
 * An image is read and held once for all its runs.
 * Side: parent.
 */
#ifndef IMAGES_STORE_IMAGE_USE_H
#define IMAGES_STORE_IMAGE_USE_H

#include "images/store/store.h"

#include <sys/stat.h>

struct used_images;

/* What the user of the list has made for all runs of an image; {0} at first. */
struct image_annex {
    void *data;
    void (*release)(void *data); /* called once, when the last run has ended; or NULL */
};

/* An image in use. Owned by the list; freed with its last user. */
struct used_image {
    struct image image;
    struct used_images *list;
    struct used_image *previous, *next;
    struct stat record; /* of image.json, to notice a replaced image */
    size_t users;
    int *layer_fds; /* owned: each holds a shared lock */
    size_t layer_fd_count;
    struct image_annex annex;
};

/* Empty is {0}, and the list is empty again when no image is in use. */
struct used_images {
    struct used_image *first;
};

/*
 * Opens an image for use, like image_open(). 0: call image_use_end() afterwards; or a negative
 * errno.
 */
int image_use(struct used_images *list, const char *store, const char *name,
              struct used_image **ret_used, struct fault *fault);

/* Whether both are of the same image: an image that is replaced has a new record. */
bool image_use_is_same_record(const struct stat *one, const struct stat *other);

/* Ends one use. `used` is a struct used_image, or NULL. */
void image_use_end(void *used);

#endif
