/*
 * The certificates that snippets trust: those of the image, and those of the operator's network.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_CERTIFICATES_H
#define INTERPRETER_CERTIFICATES_H

#include "images/store/image_use.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

/* The file of both, below the home directory of the jail. */
#define CERTIFICATES_NAME ".certificates.pem"
#define CERTIFICATES_VARIABLES 5

/* Of one image and the operator. */
struct certificates {
    struct stat record; /* the image's, as in struct used_image; {0}: of none yet */
    struct buffer
        all; /* owned: the content of the file; empty: the image has them all, and there is no file */
    const char *const
        *variables; /* CERTIFICATES_VARIABLES of NAME=VALUE: programs find them by these; static */
};

#define CERTIFICATES_NONE ((struct certificates){0})

/*
 * Puts those of the image and `own`, in PEM form (RFC 7468), together, unless it has been done for this image.
 * 0, or a negative errno with its fault.
 */
int certificates_update(struct certificates *certificates, const struct used_image *used,
                        const struct buffer *own, struct fault *fault);

void certificates_release(struct certificates *certificates);

#endif
