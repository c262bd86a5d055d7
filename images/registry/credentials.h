/*
 * Finds the login for a registry in the files of docker and podman: $REGISTRY_AUTH_FILE, else
 * $XDG_RUNTIME_DIR/containers/auth.json, $XDG_CONFIG_HOME/containers/auth.json and
 * $DOCKER_CONFIG/config.json or ~/.docker/config.json, in this order, helpers included.
 *
 * Side: parent.  Source: containers-auth.json(5).
 */
#ifndef IMAGES_REGISTRY_CREDENTIALS_H
#define IMAGES_REGISTRY_CREDENTIALS_H

#include "images/registry/auth_file.h"
#include "sandbox/base/fault.h"

/*
 * 0 and the login, owned; 1: none; -EINTR; or another negative errno: an existing file is
 * unreadable, a helper failed. No fault ever contains a part of a login.
 */
int credentials_find(const struct reference *reference, struct credentials *ret_credentials,
                     struct fault *fault);

#endif
