/*
 * An image in a directory: documents and layers as in an OCI layout or from `docker save`.
 *
 * The directory may come from an archive, so names are resolved inside it, regardless of its links.
 *
 * Side: parent.
 */
#ifndef IMAGES_REGISTRY_LAYOUT_H
#define IMAGES_REGISTRY_LAYOUT_H

#include "images/registry/source.h"
#include "images/unpack/layers.h"
#include "sandbox/base/buffer.h"

/* Whether the input is a directory with this regular file, and not itself a root file system. */
bool layout_is_in(const struct source_input *input, const char *name);

/* Opens a regular file in the directory. The descriptor, or a negative errno with a fault. */
int layout_open_file(int directory_fd, const char *path, struct fault *fault);

/* Reads a whole file of at most text->maximum bytes. 0; -EFBIG; or another negative errno. */
int layout_read_document(int directory_fd, const char *path, struct buffer *text,
                         struct fault *fault);

/* Finds the layers of an image, and passes each to the children after checking it. */
typedef int layout_reader(int directory_fd, struct layers *layers, struct provenance *provenance,
                          struct fault *fault);

/* Unpacks the layers that the reader finds. As image_source.make. */
int layout_unpack(int directory_fd, const struct source_site *site, layout_reader *read_layers,
                  struct provenance *provenance, struct fault *fault);

#endif
