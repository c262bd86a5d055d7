#include "images/registry/layout.h"

#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int layout_open_file(int directory_fd, const char *path, struct fault *fault)
{
    struct stat status;
    OWNED_FD int fd = open_resolved(directory_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                                    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 || fstat(fd, &status) < 0)
        return fault_set(fault, fd < 0 ? -fd : errno, "cannot open %s of the image: %m", path);
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, EINVAL, "%s of the image is not a regular file", path);
    return fd_take(&fd);
}

bool layout_is_in(const struct source_input *input, const char *name)
{
    struct stat status;
    return input->is_directory && !source_is_rootfs(input->fd) &&
           fstatat(input->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

int layout_read_document(int directory_fd, const char *path, struct buffer *text,
                         struct fault *fault)
{
    OWNED_FD int fd = layout_open_file(directory_fd, path, fault);
    if (fd < 0)
        return fd;
    int r = text_file_read_all(fd, text);
    if (r == -ENOBUFS)
        return fault_set(fault, EFBIG, "%s of the image has more than %zu bytes", path,
                         text->maximum);
    return r < 0 ? fault_set(fault, -r, "cannot read %s of the image: %m", path) : 0;
}

int layout_unpack(int directory_fd, const struct source_site *site, layout_reader *read_layers,
                  struct provenance *provenance, struct fault *fault)
{
    OWNED(layers_release) struct layers layers = LAYERS_NONE;
    progress_step(site->progress, "unpacking layers");
    int r = layers_start(&layers, site->rootfs, fault);
    if (r == 0)
        r = read_layers(directory_fd, &layers, provenance, fault);
    return r == 0 ? layers_finish(&layers, site->progress, fault) : r;
}
