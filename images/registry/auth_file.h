/*
 * Parses the login files of docker and podman, and finds the login for a repository.
 *
 *     {"auths":{"quay.io":{"auth":"BASE64 of USER:PASSWORD"}},"credHelpers":{"gcr.io":"gcloud"},
 *      "credsStore":"secretservice"}
 *
 * A pure reader. Side: parent.
 * Source: containers-auth.json(5); docker login, "Credential stores".
 */
#ifndef IMAGES_REGISTRY_AUTH_FILE_H
#define IMAGES_REGISTRY_AUTH_FILE_H

#include "images/base/reference.h"

#include <stddef.h>

#define AUTH_FILE_MAX (1 << 20) /* bytes */

/* A login. Owned: auth_file_release_credentials() wipes and frees. Empty is {0}. */
struct credentials {
    char *user;
    char *password;
    char *identity_token; /* instead of both: a refresh token for an OAuth server, or NULL */
};

void auth_file_release_credentials(struct credentials *credentials);

enum auth_kind {
    AUTH_NONE,
    AUTH_LOGIN,  /* the login is in the file */
    AUTH_HELPER, /* docker-credential-HELPER has it */
};

struct auth {
    enum auth_kind kind;
    struct credentials credentials; /* of AUTH_LOGIN; owned */
    char helper[64];                /* of AUTH_HELPER: letters, digits, '-', '_', '.' */
};

void auth_file_release(struct auth *auth);

/*
 * Looks up the reference: its repository, then the folders above it, then its host. Malformed
 * entries are skipped. 0; -EINVAL if the file is no JSON object; -ENOMEM.
 */
int auth_file_read(const char *json, size_t length, const struct reference *reference,
                   struct auth *ret_auth);

/*
 * The server name to pass to a helper, in the form of a key of the file:
 * "https://index.docker.io/v1/" for Docker Hub.
 */
const char *auth_file_host(const struct reference *reference);

/*
 * Parses the output of `docker-credential-X get`. 0; -EINVAL unless it is an object with Username
 * and Secret; -ENOMEM.
 */
int auth_file_read_helper(const char *json, size_t length, struct credentials *ret_credentials);

#endif
