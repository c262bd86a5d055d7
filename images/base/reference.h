/*
 * The name of an image in a registry: [HOST[:PORT]/]REPOSITORY[:TAG][@DIGEST].
 *
 * A pure parser of the user's input. Side: parent. Source: distribution/reference, "Grammar" and
 * its familiar names.
 */
#ifndef IMAGES_BASE_REFERENCE_H
#define IMAGES_BASE_REFERENCE_H

#include "images/base/digest.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

#define REFERENCE_HOST_MAX 262 /* a name of 255, a colon, a port */
#define REFERENCE_REPOSITORY_MAX 255
#define REFERENCE_TAG_MAX 128
#define REFERENCE_TEXT_MAX                                                                         \
    (REFERENCE_HOST_MAX + REFERENCE_REPOSITORY_MAX + REFERENCE_TAG_MAX + DIGEST_TEXT_MAX + 4)

struct reference {
    char host[REFERENCE_HOST_MAX + 1];             /* "docker.io", "127.0.0.1:5000" */
    char repository[REFERENCE_REPOSITORY_MAX + 1]; /* "library/python" */
    char tag[REFERENCE_TAG_MAX + 1];               /* "latest" unless there is a digest; or "" */
    struct digest digest;                          /* text "" if there is none */
};

/*
 * Parses a reference by Docker's rules: no host means docker.io, on docker.io no folder means
 * library/, neither tag nor digest means :latest. 0; -EINVAL with a fault that names the wrong
 * part.
 */
int reference_parse(const char *text, struct reference *ret_reference, struct fault *fault);

/* Writes the complete reference in its long form. */
void reference_format(const struct reference *reference, char text[REFERENCE_TEXT_MAX]);

/* The server of the registry, which differs from the host for docker.io. */
const char *reference_server(const struct reference *reference);

/* Whether "HOST" or "HOST:PORT" is this machine: localhost, 127.0.0.0/8 or [::1]. */
bool reference_host_is_loopback(const char *host);

#endif
