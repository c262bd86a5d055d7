/*
 * Debian packages, resolved and downloaded by the host's apt without privileges.
 *
 * apt works on separate state, cache and package status, with the host's mirror, keyring, proxy and
 * date settings. It verifies every download. The host's own package state is neither read nor
 * changed. Side: parent. Source: apt.conf(5), sources.list(5).
 */
#ifndef IMAGES_BUILD_DEBIAN_H
#define IMAGES_BUILD_DEBIAN_H

#include "images/base/progress.h"
#include "images/store/lock.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/fault.h"

#include <stddef.h>
#include <stdint.h>

#define DEBIAN_SUITE "trixie" /* whatever Debian the host is */

struct debian_download {
    int *fds; /* owned: the packages, opened, the largest first */
    size_t count;
};

void debian_download_release(struct debian_download *download);

/* What to download; borrowed. */
struct debian_request {
    const char *store;           /* of images, for its room; `scratch` is in it */
    const char *const *packages; /* names; ends with NULL */
    const char *suite;           /* "trixie" */
    const struct lock *locked;   /* the exact packages, or NULL */
    struct lock *lock;           /* records the downloads; or NULL */
    const struct buffer *status; /* dpkg's status file for packages that count as installed */
};

/*
 * Writes status stanzas for packages to leave out: they count as installed in any required version.
 * NULL terminates the list. 0 or a negative errno.
 */
int debian_status_of(const char *const *left_out, struct buffer *status, struct fault *fault);

/*
 * Downloads packages and all dependencies into `scratch`/cache/archives. `scratch` is the absolute
 * path of an empty directory. 0; -EINTR; -ENOSPC: the store has no room; another negative errno.
 */
int debian_download(const char *scratch, const struct debian_request *request,
                    struct progress *progress, struct debian_download *ret_download,
                    struct fault *fault);

#endif
