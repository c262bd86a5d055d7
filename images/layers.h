/*
 * Applies the layers of an image to its root file system, in order, in one confined child: each as
 * soon as the parent has it whole, while the parent fetches the next.
 *
 * The child is started before the parent talks to a network: libraries may start threads for that,
 * and a process with threads cannot make a child that goes on in libc (confine.c).
 *
 * Side: parent; the layers are read in the child.
 */
#ifndef IMAGES_LAYERS_H
#define IMAGES_LAYERS_H

#include "images/child.h"
#include "images/progress.h"
#include "images/registry/digest.h"
#include "images/registry/manifest.h"

struct layers_shared;

struct layers {
    struct child child;
    struct layers_shared *shared; /* owned */
    int socket_fd;                /* owned: layers go to the child through it */
    int given_fds[LAYERS_MAX];    /* owned: where the child reads, to see how far it is */
    uint64_t given_bytes;
    size_t given_count;
};

/* Empty ones, for layers_release() to pass over. */
#define LAYERS_NONE ((struct layers){.child = CHILD_NONE, .socket_fd = -1})

/* Starts the child on `root`, an empty directory, which must stay until the release. */
int layers_start(struct layers *layers, const char *root, struct fault *fault);

/*
 * Gives it the next layer: the file, read from its start by a descriptor of its own, and the digest
 * of what it expands to. 0 or a negative errno.
 */
int layers_give(struct layers *layers, int fd, const struct digest *diff_id, struct fault *fault);

/*
 * Looks how the child does, without waiting. 0; -EINTR; or the fault it reported: -EBADMSG for a
 * damaged or hostile layer, -EFBIG for one over the maxima of member.h, another errno.
 */
int layers_attend(struct layers *layers, struct fault *fault);

/* No more layers: waits until all are applied. As layers_attend(). */
int layers_finish(struct layers *layers, struct progress *progress, struct fault *fault);

void layers_release(struct layers *layers);

#endif
