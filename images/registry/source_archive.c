/* A tar of any source that is a directory; gzip, zstd, xz or no compression. */
#include "images/registry/source.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static bool archive_matches(const struct source_input *input)
{
    return input->fd >= 0 && !input->is_directory;
}

/* Unless the archive holds the root file system itself, makes it from the unpacked directory. */
static int archive_make(const struct source_input *input, const struct source_site *site,
                        struct provenance *provenance, struct fault *fault)
{
    progress_step(site->progress, "unpacking");
    int r = unpack_tar(site->rootfs, input->fd, site->progress, fault);
    if (r < 0)
        return r;
    OWNED_FD int directory_fd = open(site->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", site->rootfs);
    const struct source_input unpacked = {.fd = directory_fd, .is_directory = true};
    const struct image_source *source = source_find(&unpacked);
    if (source->is_rootfs)
        return 0;
    char aside[PATH_MAX];
    snprintf(aside, sizeof(aside), "%s/layout", site->scratch);
    if (rename(site->rootfs, aside) < 0 || mkdir(site->rootfs, 0755) < 0)
        return fault_set(fault, errno, "cannot move the unpacked archive aside: %m");
    return source->make(&unpacked, site, provenance, fault);
}

const struct image_source source_archive = {
    .help = "archives are tar, compressed with gzip, zstd or xz, or plain",
    .matches = archive_matches,
    .make = archive_make,
};
