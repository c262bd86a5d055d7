/*
 * What is shown to a registry for a login: Basic credentials, or a token got with them.
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
    const char *repository;                /* for where the challenge names no scope */
    bool loopback;                         /* the registry is this machine */
};

/*
 * Asks the server that the challenge names. 0 and "Bearer ...", a secret, owned; -EACCES without a
 * fault when it refuses; -EINTR; or another negative errno.
 */
int token_get(const struct token_request *request, char **ret_authorization, struct fault *fault);

#endif
