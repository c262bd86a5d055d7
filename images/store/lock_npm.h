/*
 * The npm packages of a lock: a strict subset of "packages" in npm's package-lock.json.
 *
 * A lock may come from anyone, and npm's own format can make it clone git repositories, follow
 * links and read directories. So a lock has only the path, the version and the archive's digest of
 * each package; everything else is dropped before npm sees it.
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
 * Checks the packages and stores in lock->npm, for each: version, integrity (sha512) and name, if
 * present, as for an alias. The URL of the archive, if present, is checked and dropped: npm takes
 * some https URLs for git repositories, so it must ask its registry by name. Packages marked
 * inBundle are dropped, since the archive of the enclosing package contains them. 0; -EINVAL with a
 * fault that names the package; -ENOMEM.
 */
int lock_npm_take(const struct json_value *packages, struct lock *lock, struct fault *fault);

/* The name at the end of node_modules/NAME/node_modules/NAME. */
const char *lock_npm_name(const char *path);

#endif
