/*
 * Finds the login for a registry where docker and podman keep it: $REGISTRY_AUTH_FILE, else
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
 * 0 and the login, owned; 1 when there is none; -EINTR; or another negative errno: a file that is
 * there and cannot be read, a helper that fails. No fault ever holds a part of a login.
 */
int credentials_find(const struct reference *reference, struct credentials *ret_credentials,
                     struct fault *fault);

#endif
