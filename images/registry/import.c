#include "images/registry/import.h"

#include "images/registry/layout.h"
#include "images/unpack/layers.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

void provenance_release(struct provenance *provenance)
{
    image_configuration_release(&provenance->configuration);
    lock_release(&provenance->lock);
}

static int import_layout(int directory_fd, const struct building_site *site,
                         struct provenance *provenance, struct progress *progress,
                         struct fault *fault)
{
    OWNED(layers_release) struct layers layers = LAYERS_NONE;
    progress_step(progress, "unpacking layers");
    int r = layers_start(&layers, site->rootfs, fault);
    if (r == 0)
        r = layout_unpack(directory_fd, &layers, &provenance->configuration, &provenance->lock,
                          fault);
    return r == 0 ? layers_finish(&layers, progress, fault) : r;
}

/* Whether there is something of a system in the directory. */
static bool is_root(int directory_fd)
{
    return faccessat(directory_fd, "usr", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           faccessat(directory_fd, "bin", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What was unpacked are layers: they are put aside, and unpacked in their turn. */
static int import_again(const struct building_site *site, struct provenance *provenance,
                        struct progress *progress, struct fault *fault)
{
    char aside[PATH_MAX];
    snprintf(aside, sizeof(aside), "%s/layout", site->scratch);
    if (rename(site->rootfs, aside) < 0 || mkdir(site->rootfs, 0755) < 0)
        return fault_set(fault, errno, "cannot put the layers of the archive aside: %m");
    OWNED_FD int directory_fd = open(aside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", aside);
    return import_layout(directory_fd, site, provenance, progress, fault);
}

static int import_archive(int fd, const struct building_site *site, struct provenance *provenance,
                          struct progress *progress, struct fault *fault)
{
    progress_step(progress, "unpacking");
    int r = unpack_tar(site->rootfs, fd, progress, fault);
    if (r < 0)
        return r;
    OWNED_FD int directory_fd = open(site->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0)
        return fault_set(fault, errno, "cannot open %s: %m", site->rootfs);
    if (is_root(directory_fd) || !layout_is_there(directory_fd))
        return 0;
    return import_again(site, provenance, progress, fault);
}

static int import_directory(int directory_fd, const struct building_site *site,
                            struct provenance *provenance, struct progress *progress,
                            struct fault *fault)
{
    if (!is_root(directory_fd) && layout_is_there(directory_fd))
        return import_layout(directory_fd, site, provenance, progress, fault);
    progress_step(progress, "copying");
    return unpack_directory(site->rootfs, directory_fd, fault);
}

int import_path(const char *path, const struct building_site *site, struct provenance *provenance,
                struct progress *progress, struct fault *fault)
{
    OWNED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return fault_set(fault, errno, "cannot open the archive %s: %m", path);
    if (S_ISDIR(status.st_mode))
        return import_directory(fd, site, provenance, progress, fault);
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "the archive %s is not a regular file", path);
    return import_archive(fd, site, provenance, progress, fault);
}
