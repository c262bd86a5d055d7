/*
 * Applies the layers of an image to its root file system, in order, each as soon as the parent has
 * all of it, while the parent fetches the next. Two jailed children keep two processors busy:
 *
 *     file of a layer -> expander: gzip, zstd, xz -> pipe -> applier: digest, tar -> the tree
 *
 * They are started before the parent uses the network, because libraries may start threads for
 * that, and a child cloned from a process with threads cannot safely use libc (jailed.c).
 *
 * Side: parent; the layers are read in the children.
 */
#ifndef IMAGES_UNPACK_LAYERS_H
#define IMAGES_UNPACK_LAYERS_H

#include "images/base/digest.h"
#include "images/base/manifest.h"
#include "images/base/progress.h"
#include "images/base/subprocess.h"

struct layers_shared;

enum { LAYERS_EXPANDER, LAYERS_APPLIER, LAYERS_CHILDREN };

struct layers {
    struct subprocess children[LAYERS_CHILDREN];
    struct layers_shared *shared;    /* owned */
    int socket_fds[LAYERS_CHILDREN]; /* owned: layers go to each child through its own */
    int given_fds[LAYERS_MAX];       /* owned: read by the expander; positions show progress */
    uint64_t given_bytes;
    size_t given_count;
};

/* Empty ones, for layers_release() to pass over. */
#define LAYERS_NONE                                                                                \
    ((struct layers){.children = {SUBPROCESS_NONE, SUBPROCESS_NONE}, .socket_fds = {-1, -1}})

/* Starts the children on `root`, an empty directory, which must stay until the release. */
int layers_start(struct layers *layers, const char *root, struct fault *fault);

/*
 * Passes on the next layer: the file, to be read from its start, and the digest of the expanded
 * layer. 0 or a negative errno.
 */
int layers_give(struct layers *layers, int fd, const struct digest *diff_id, struct fault *fault);

/*
 * Checks on the children without waiting. 0; -EINTR; or a fault reported by a child: -EBADMSG for a
 * damaged or hostile layer, -EFBIG for one over the maxima of member.h, another errno.
 */
int layers_attend(struct layers *layers, struct fault *fault);

/* No more layers: waits until all are applied. As layers_attend(). */
int layers_finish(struct layers *layers, struct progress *progress, struct fault *fault);

void layers_release(struct layers *layers);

#endif
