/* A root file system in a directory. */
#include "images/registry/source.h"
#include "images/unpack/unpack.h"

static bool directory_matches(const struct source_input *input)
{
    return input->is_directory;
}

static int directory_make(const struct source_input *input, const struct source_site *site,
                          struct provenance *provenance, struct fault *fault)
{
    (void)provenance;
    progress_step(site->progress, "copying");
    return unpack_directory(site->rootfs, input->fd, fault);
}

const struct image_source source_directory = {
    .help = "a root file system: a directory, or an archive of one",
    .matches = directory_matches,
    .make = directory_make,
    .is_rootfs = true,
};
