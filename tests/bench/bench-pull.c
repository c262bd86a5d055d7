/*
 * Downloads an image and checks its layers, without unpacking: what `skopeo copy` does into an OCI
 * layout. bench-pull STORE REFERENCE; the layers lie in STORE/downloads then.
 */
#include "images/base/interrupt.h"
#include "images/registry/pull.h"
#include "sandbox/base/owned.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct fault fault = {0};
    struct reference reference;
    struct progress progress;
    OWNED(source_release_provenance) struct provenance provenance = {0};
    if (argc != 3)
        return 2;
    interrupt_install();
    progress_open(&progress, "bench-pull", false);
    const struct pull pull = {.store = argv[1], .reference = &reference, .progress = &progress};
    int r = reference_parse(argv[2], &reference, &fault);
    if (r == 0)
        r = pull_image(&pull, &provenance, &fault);
    progress_close(&progress);
    if (r < 0)
        fprintf(stderr, "bench-pull: %s\n", fault.text);
    return r < 0 ? 1 : 0;
}
