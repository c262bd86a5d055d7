/*
 * Makes the Authorization header for a registry: Basic credentials, or a token obtained with them.
 *
 * Side: parent.  Source: RFC 7617; distribution, "Token Authentication Specification".
 */
#ifndef IMAGES_REGISTRY_TOKEN_H
#define IMAGES_REGISTRY_TOKEN_H

#include "images/registry/auth_file.h"
#include "images/registry/challenge.h"
#include "images/registry/http.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

/* "Basic ...": a secret, owned. 0 or -ENOMEM. */
int token_basic_authorization(const struct credentials *credentials, char **ret_authorization);

struct token_request {
    struct http *http;
    const struct challenge *challenge;
    const struct credentials *credentials; /* empty: anonymous */
    const char *repository;                /* used if the challenge names no scope */
    bool loopback;                         /* the registry is this machine */
};

/*
 * Requests a token from the server named in the challenge. 0 and "Bearer ...", a secret, owned;
 * -EACCES without a fault if it refuses; -EINTR; or another negative errno.
 */
int token_get(const struct token_request *request, char **ret_authorization, struct fault *fault);

#endif
