/* Adds libraries and tools to an image, as one more layer on top. Side: parent. */
#ifndef IMAGES_ADD_H
#define IMAGES_ADD_H

#include "images/build/install.h"

struct addition {
    const char *store;
    const char *name;   /* of the image to add to */
    const char *result; /* of the resulting image; may be the same */
    const char *origin; /* the command, for the record */
    struct installation installation;
};

/*
 * Installs, and records the new image, with progress on stderr. 0; -EEXIST: the result would
 * replace another image; -EPROTO: an installer failed, the fault has its message; -EINTR; or
 * another negative errno. On failure the store is unchanged.
 */
int add_image(const struct addition *addition, struct fault *fault);

/*
 * The command `add`: argv[0] is the program. Returns the exit status; `prepare` initialises the
 * process.
 */
int add_main(int argc, char **argv, int (*prepare)(void));

#endif
