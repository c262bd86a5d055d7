/*
 * One conversation with a registry about one repository: its address, its login, and documents
 * fetched from it.
 *
 * Side: parent.  Source: OCI distribution-spec 1.1; distribution, "Token Authentication
 * Specification" and "Authenticate using OAuth2".
 */
#ifndef IMAGES_REGISTRY_SESSION_H
#define IMAGES_REGISTRY_SESSION_H

#include "images/base/manifest.h"
#include "images/base/reference.h"
#include "images/registry/auth_file.h"
#include "images/registry/http.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

struct session {
    struct http *http;                 /* borrowed */
    const struct reference *reference; /* borrowed */
    bool loopback;
    char base[REFERENCE_HOST_MAX + 16]; /* "https://HOST:PORT" */
    char *authorization;               /* owned, a secret; NULL: nothing is asked for so far */
    unsigned logins; /* counts logins, to distinguish old from new ones */
    struct credentials credentials; /* owned */
    bool credentials_sought;
};

void session_open(struct session *session, struct http *http, const struct reference *reference);
void session_close(struct session *session);

/* The address of a blob or manifest. "" when it is too long, which no checked digest makes it. */
void session_blob_url(const struct session *session, const struct digest *digest,
                      char url[HTTP_URL_MAX]);

/* A document that was fetched and checked. */
struct session_document {
    char url[HTTP_URL_MAX];
    struct descriptor descriptor;
    struct buffer text; /* owned; its maximum is the caller's to set before */
};

/*
 * Gets the manifest that the reference names, or the one that is wanted. 0; -ENOENT when there is
 * none; -EACCES; -EBADMSG for another digest or size; or another negative errno.
 */
int session_get_manifest(struct session *session, const struct descriptor *wanted,
                         struct session_document *document, struct fault *fault);

/* The same for a blob that is small. */
int session_get_blob(struct session *session, const struct descriptor *wanted,
                     struct session_document *document, struct fault *fault);

/*
 * After an answer of 401 to a request that showed the login of number `logins`: gets another one.
 * 0: try again; -EACCES and a fault that says how to log in; -EINTR; or another negative errno.
 */
int session_authorize(struct session *session, const char *challenge, unsigned logins,
                      struct fault *fault);

/* The fault for an answer that is none of 200, 206 and 401. Returns a negative errno. */
int session_refusal(const struct session *session, const struct transfer *transfer,
                    struct fault *fault);

#endif
