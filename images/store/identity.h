/*
 * What an image is made of, as one digest: the same on every machine that has fetched the same lock.
 *
 * Taken from the digests of lock.json. An image without a lock, and layers of `images add`, count by the lists of
 * their files.
 *
 * Side: parent. Not used by the server, which links no libcrypto.
 */
#ifndef IMAGES_STORE_IDENTITY_H
#define IMAGES_STORE_IDENTITY_H

#include "images/store/image.h"

#define IDENTITY_SIZE 13 /* 12 hexadecimal digits and NUL */

/* 0, or a negative errno with its fault, which names the image. */
int image_identity(const struct image *image, char ret_identity[static IDENTITY_SIZE],
                   struct fault *fault);

#endif
