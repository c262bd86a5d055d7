/* The output of `docker save`. Newer versions also write an OCI layout, which is preferred. */
#include "images/registry/docker_archive.h"
#include "images/registry/layout.h"
#include "sandbox/base/owned.h"

/* Only the digests of the expanded layers are known; the child checks them. */
static int docker_read(int directory_fd, struct layers *layers, struct provenance *provenance,
                       struct fault *fault)
{
    struct configuration *configuration = &provenance->configuration;
    const struct platform platform = manifest_platform();
    OWNED(docker_archive_release) struct docker_archive archive = {0};
    OWNED(buffer_release) struct buffer text = BUFFER(IMAGE_CONFIGURATION_MAX);
    int r = layout_read_document(directory_fd, "manifest.json", &text, fault);
    if (r == 0)
        r = docker_archive_read(text.data, text.length, &archive, fault);
    text.length = 0;
    if (r == 0)
        r = layout_read_document(directory_fd, archive.configuration, &text, fault);
    if (r == 0)
        r = manifest_read_configuration(text.data, text.length, &platform, configuration, fault);
    if (r == 0 && configuration->diff_id_count != archive.layer_count)
        r = fault_set(fault, EINVAL, "its manifest has %zu layers, its configuration %zu",
                      archive.layer_count, configuration->diff_id_count);
    for (size_t i = 0; r == 0 && i < archive.layer_count; i++) {
        OWNED_FD int fd = layout_open_file(directory_fd, archive.layers[i], fault);
        r = fd < 0 ? fd : layers_give(layers, fd, &configuration->diff_ids[i], fault);
        if (r == 0)
            r = layers_attend(layers, fault);
    }
    return r;
}

static bool docker_matches(const struct source_input *input)
{
    return layout_is_in(input, "manifest.json");
}

static int docker_make(const struct source_input *input, const struct source_site *site,
                       struct provenance *provenance, struct fault *fault)
{
    return layout_unpack(input->fd, site, docker_read, provenance, fault);
}

const struct image_source source_docker_archive = {
    .help = "an archive written by docker save or podman save",
    .matches = docker_matches,
    .make = docker_make,
};
