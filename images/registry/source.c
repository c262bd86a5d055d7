#include "images/registry/source.h"

#include "images/base/reference.h"
#include "images/unpack/member.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* IMAGE_SOURCES comes from meson.build: SOURCE(oci_layout) SOURCE(docker_archive) ... */
#define SOURCE(kind) extern const struct image_source source_##kind;
IMAGE_SOURCES
#undef SOURCE

#define SOURCE(kind) &source_##kind,
const struct image_source *const source_list[] = {IMAGE_SOURCES NULL};
#undef SOURCE

void source_release_provenance(struct provenance *provenance)
{
    manifest_release_configuration(&provenance->configuration);
    lock_release(&provenance->lock);
    free(provenance->source);
}

const struct image_source *source_find(const struct source_input *input)
{
    const struct image_source *const *source = source_list;
    while (!(*source)->matches(input))
        source++;
    return *source;
}

bool source_is_rootfs(int directory_fd)
{
    return faccessat(directory_fd, "usr", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           faccessat(directory_fd, "bin", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Whether the text of --from is a path: it exists, or is written like one. */
static bool is_path(const char *from)
{
    static const char *const endings[] = {".tar",     ".tar.gz",   ".tgz",     ".tar.xz",
                                          ".tar.zst", ".tar.gzip", ".tar.zstd"};
    size_t length = strlen(from);
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
        size_t size = strlen(endings[i]);
        if (length >= size && strcmp(from + length - size, endings[i]) == 0)
            return true;
    }
    return from[0] == '/' || from[0] == '.' || access(from, F_OK) == 0;
}

int source_check(const char *text, struct fault *fault)
{
    const struct source_input input = {.text = text, .fd = -1};
    if (is_path(text))
        return 0;
    const struct image_source *source = source_find(&input);
    return source->check != NULL ? source->check(text, fault) : 0;
}

static int input_open(const char *text, struct source_input *input, struct fault *fault)
{
    struct stat status;
    *input = (struct source_input){.text = text, .fd = -1};
    if (!is_path(text))
        return 0;
    input->fd = open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input->fd < 0 || fstat(input->fd, &status) < 0)
        return fault_set(fault, errno, "cannot open the archive %s: %m", text);
    input->is_directory = S_ISDIR(status.st_mode);
    if (!input->is_directory && !S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "the archive %s is not a regular file", text);
    return 0;
}

static char *name_path(const char *text)
{
    char shown[256];
    char *name = NULL;
    const char *slash = strrchr(text, '/');
    member_name_for_people(slash != NULL && slash[1] != '\0' ? slash + 1 : text, shown);
    return asprintf(&name, "the archive %s", shown) < 0 ? NULL : name;
}

char *source_name(const char *text)
{
    struct reference reference;
    char name[REFERENCE_TEXT_MAX];
    if (is_path(text) || reference_parse(text, &reference, NULL) < 0)
        return name_path(text);
    reference_format(&reference, name);
    return strdup(name);
}

int source_make(const char *text, const struct source_site *site, struct provenance *provenance,
                struct fault *fault)
{
    struct source_input input;
    int r = input_open(text, &input, fault);
    OWNED_FD int fd = input.fd;
    if (r == 0)
        r = source_find(&input)->make(&input, site, provenance, fault);
    if (r < 0 || provenance->source != NULL)
        return r;
    provenance->source = name_path(text);
    return provenance->source != NULL
               ? 0
               : fault_set(fault, ENOMEM, "no memory for the record of the image");
}
