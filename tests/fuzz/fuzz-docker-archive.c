/*
 * manifest.json of a `docker save` archive: what is taken names files below the archive's top.
 */
#include "images/base/manifest.h"
#include "images/registry/docker_archive.h"
#include "sandbox/base/owned.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_path(const char *path)
{
    FUZZ_CHECK(path[0] != '\0' && path[0] != '/');
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        size_t length = strcspn(part, "/");
        FUZZ_CHECK(length != 2 || strncmp(part, "..", 2) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWNED(docker_archive_release) struct docker_archive archive = {0};
    struct fault fault = {0};
    int r = docker_archive_read((const char *)data, size, &archive, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return 0;
    check_path(archive.configuration);
    FUZZ_CHECK(archive.layer_count <= LAYERS_MAX);
    for (size_t i = 0; i < archive.layer_count; i++)
        check_path(archive.layers[i]);
    return 0;
}
