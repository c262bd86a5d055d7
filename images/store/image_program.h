/*
 * What a program of an image is, without running it.
 *
 * Side: parent.
 */
#ifndef IMAGES_STORE_IMAGE_PROGRAM_H
#define IMAGES_STORE_IMAGE_PROGRAM_H

#include "images/store/image.h"

/*
 * The name of the file that a program's links lead to: "python3.13" for "python3". In an image of several
 * layers each is looked at alone, from the top. Owned by the caller. 0; 1 if there is no such program in
 * a layer; or a negative errno with a fault.
 */
int image_program_name(const struct image *image, const char *program, char **ret_name,
                       struct fault *fault);

/* Whether the image has a program of that name, as far as its layers tell one by one. */
bool image_has_program(const struct image *image, const char *program);

#endif
