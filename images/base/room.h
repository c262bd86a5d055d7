/*
 * Room for downloads and installations: asked for before they begin, since programs on a full file
 * system fail late, unclearly or never.
 *
 * Side: parent.  Source: statvfs(3).
 */
#ifndef IMAGES_BASE_ROOM_H
#define IMAGES_BASE_ROOM_H

#include "sandbox/base/fault.h"

#include <stdint.h>

/* Asked for where the size is not known. */
#define ROOM_LISTS_BYTES ((uint64_t)64 << 20)   /* apt's lists of the packages of Debian */
#define ROOM_UNKNOWN_BYTES ((uint64_t)16 << 20) /* what pip, npm and commands install */
#define ROOM_FILES 1000

struct room {
    uint64_t bytes;
    uint64_t files; /* inodes; a file system without a fixed number has enough */
};

/*
 * Whether the file system of the store has room for `what` ("136 packages"). 0; -ENOSPC: the fault
 * names the store, what is free, what is needed and the remedy; another negative errno. Quotas of
 * users are not seen.
 */
int room_check(const char *store, const char *what, const struct room *needed, struct fault *fault);

#endif
