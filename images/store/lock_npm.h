/*
 * The npm packages of a lock: what npm calls the "packages" of a package-lock.json, strictly.
 *
 * A lock may come from anyone, and npm does much that its own format can ask for: it clones git
 * repositories, follows links, reads directories. So a lock says of each package where it goes, its
 * version, and the digest of its archive; all else is left out, and npm is told no more than that.
 *
 * Side: parent.  Source: npm's package-lock.json(5), package.json(5).
 */
#ifndef IMAGES_STORE_LOCK_NPM_H
#define IMAGES_STORE_LOCK_NPM_H

#include "images/store/lock.h"
#include "sandbox/base/json.h"

#define LOCK_NPM_PACKAGES_MAX 4000
#define LOCK_NPM_PATH_MAX 1024 /* bytes */
#define LOCK_NPM_URL_MAX 2048

/*
 * Checks the packages and puts into lock->npm, for each: version, integrity (sha512) and, where it is
 * there, name, which is that of an alias. The address of the archive, if one is given, is checked and
 * left out: npm takes some https addresses for git repositories, so it is to ask its registry by
 * name. What is inBundle is left out, since it comes in the archive of the package above. 0; -EINVAL
 * with a fault that names the package; -ENOMEM.
 */
int lock_npm_take(const struct json_value *packages, struct lock *lock, struct fault *fault);

/* The name at the end of node_modules/NAME/node_modules/NAME. */
const char *lock_npm_name(const char *path);

#endif
