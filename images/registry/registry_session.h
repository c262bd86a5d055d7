/*
 * A session with a registry for one repository: address, login, and fetched documents.
 *
 * Side: parent.  Source: OCI distribution-spec 1.1; distribution, "Token Authentication
 * Specification" and "Authenticate using OAuth2".
 */
#ifndef IMAGES_REGISTRY_REGISTRY_SESSION_H
#define IMAGES_REGISTRY_REGISTRY_SESSION_H

#include "images/base/manifest.h"
#include "images/base/reference.h"
#include "images/registry/auth_file.h"
#include "images/registry/http.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

struct registry_session {
    struct http *http;                 /* borrowed */
    const struct reference *reference; /* borrowed */
    bool loopback;
    char base[REFERENCE_HOST_MAX + 16]; /* "https://HOST:PORT" */
    char *authorization;               /* owned, a secret; NULL: no login required so far */
    unsigned logins; /* counts logins, to distinguish old from new ones */
    struct credentials credentials; /* owned */
    bool credentials_sought;
};

void session_open(struct registry_session *session, struct http *http,
                  const struct reference *reference);
void session_close(struct registry_session *session);

/* The URL of a blob or manifest. "" if too long, which cannot happen for a checked digest. */
void session_blob_url(const struct registry_session *session, const struct digest *digest,
                      char url[HTTP_URL_MAX]);

/* A fetched and checked document. */
struct session_document {
    char url[HTTP_URL_MAX];
    struct descriptor descriptor;
    struct buffer text; /* owned; the caller sets its maximum beforehand */
};

/*
 * Fetches the manifest named by the reference, or `wanted`. 0; -ENOENT: none; -EACCES; -EBADMSG:
 * wrong digest or size; or another negative errno.
 */
int session_get_manifest(struct registry_session *session, const struct descriptor *wanted,
                         struct session_document *document, struct fault *fault);

/* The same for a small blob. */
int session_get_blob(struct registry_session *session, const struct descriptor *wanted,
                     struct session_document *document, struct fault *fault);

/*
 * Logs in again after a 401 to a request made with login number `logins`. 0: try again; -EACCES and
 * a fault that says how to log in; -EINTR; or another negative errno.
 */
int session_authorize(struct registry_session *session, const char *challenge, unsigned logins,
                      struct fault *fault);

/* Fills the fault for a status other than 200, 206 and 401. Returns a negative errno. */
int session_refusal(const struct registry_session *session, const struct transfer *transfer,
                    struct fault *fault);

#endif
