/*
 * Debian packages by way of the host's apt, run as an unprivileged resolver and downloader.
 *
 * apt works on its own state, cache and package status, with the host's mirror,
 * keyring, proxy and date settings; what it downloads it has verified. Nothing of the host's own
 * package state is read or touched.  Side: parent.  Source: apt.conf(5), sources.list(5).
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
    const char *const *packages; /* names; ends with NULL */
    const char *suite;           /* "trixie" */
    const struct lock *locked;   /* the exact packages, or NULL */
    struct lock *lock;           /* notes what came; or NULL */
    const struct buffer *status; /* of the packages that count as there, as dpkg writes it */
};

/*
 * Stanzas of packages that are left out: they count as there, whatever version of them is wanted.
 * The list ends with NULL. 0 or a negative errno.
 */
int debian_status_of(const char *const *left_out, struct buffer *status, struct fault *fault);

/*
 * Downloads packages with all they depend on, into `scratch`/cache/archives, `scratch` being an
 * absolute path of an empty directory. 0, -EINTR or another negative errno.
 */
int debian_download(const char *scratch, const struct debian_request *request,
                    struct progress *progress, struct debian_download *ret_download,
                    struct fault *fault);

#endif
