/*
 * The certificates that snippets trust: those of the image, and those of the operator's network.
 *
 * Side: parent.
 */
#ifndef MCP_NETWORK_CERTIFICATES_H
#define MCP_NETWORK_CERTIFICATES_H

#include "images/store/image.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

/* Where they are, below the home directory of the jail. */
#define CERTIFICATES_NAME ".certificates.pem"
#define CERTIFICATES_VARIABLES 5

/* NAME=VALUE of the variables by which programs find them. */
extern const char *const certificates_variables[CERTIFICATES_VARIABLES];

/* Appends those of the image, if it has any, and the operator's. 0, or a negative errno with its fault. */
int certificates_combine(const struct image *image, const struct buffer *own, struct buffer *all,
                         struct fault *fault);

#endif
