/*
 * Debian packages by way of the host's apt, run as an unprivileged resolver and downloader.
 *
 * apt works on a state, cache and (empty) package status of its own, with the host's mirror,
 * keyring, proxy and date settings; what it downloads it has verified. Nothing of the host's own
 * package state is read or touched.  Side: parent.  Source: apt.conf(5), sources.list(5).
 */
#ifndef IMAGES_DEBIAN_H
#define IMAGES_DEBIAN_H

#include "images/progress.h"
#include "sandbox/base/fault.h"

#include <stddef.h>
#include <stdint.h>

#define DEBIAN_SUITE "trixie" /* whatever Debian the host is */

struct debian_download {
    int *fds; /* owned: the packages, opened, the largest first */
    size_t count;
};

void debian_download_release(struct debian_download *download);

/*
 * Downloads packages with all they depend on, into `scratch`, an absolute path of an empty
 * directory. Packages of `left_out` count as there already. Both arrays end with NULL. 0, -EINTR or
 * another negative errno.
 */
int debian_download(const char *scratch, const char *const *packages, const char *const *left_out,
                    struct progress *progress, struct debian_download *ret_download,
                    struct fault *fault);

#endif
