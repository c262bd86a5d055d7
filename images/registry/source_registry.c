/* An image in a registry, by its reference. */
#include "images/registry/pull.h"

static bool registry_matches(const struct source_input *input)
{
    return input->fd < 0;
}

static int registry_check(const char *text, struct fault *fault)
{
    struct reference reference;
    return reference_parse(text, &reference, fault);
}

static int registry_make(const struct source_input *input, const struct source_site *site,
                         struct provenance *provenance, struct fault *fault)
{
    struct reference reference;
    int r = reference_parse(input->text, &reference, fault);
    const struct pull pull = {site->store, &reference, site->rootfs, site->progress};
    return r == 0 ? pull_image(&pull, provenance, fault) : r;
}

const struct image_source source_registry = {
    .help = "a reference: an image in a registry, HOST[:PORT]/NAME[:TAG][@DIGEST], such as\n"
            "  docker.io/library/python:3.13-slim; logins are those of podman and docker",
    .matches = registry_matches,
    .check = registry_check,
    .make = registry_make,
};
