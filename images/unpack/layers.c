#include "images/unpack/layers.h"

#include "images/unpack/extract.h"
#include "images/unpack/jailed.h"
#include "images/unpack/stream.h"
#include "sandbox/base/fd_message.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define FULL_MILLISECONDS 50
#define PIPE_SIZE (1 << 20) /* pipe(7): the maximum without privileges */

/* Shared by all processes. */
struct layers_shared {
    struct tree_usage usage;
    atomic_bool expanded[LAYERS_MAX];
    atomic_size_t applied;
};

/* Of one child. */
struct layers_task {
    struct layers_shared *shared;
    int socket_fd; /* where layers come from */
};

/* Takes the digest of a layer and the descriptors with it. As fd_message_receive(). */
static int layer_receive(int socket_fd, struct digest *diff_id, int *fds, size_t count)
{
    const struct fd_message message = {diff_id, sizeof(*diff_id), fds, count};
    return fd_message_receive(socket_fd, &message, 0);
}

static int expander_body(void *data, struct fault *fault)
{
    const struct layers_task *task = data;
    struct layers_shared *shared = task->shared;
    for (size_t number = 0;; number++) {
        int fds[2] = {-1, -1};
        struct digest diff_id;
        int r = layer_receive(task->socket_fd, &diff_id, fds, ARRAY_LENGTH(fds));
        if (r <= 0)
            return r < 0 ? fault_set(fault, -r, "cannot receive a layer: %m") : 0;
        OWNED_FD int fd = fds[0];
        OWNED_FD int pipe_fd = fds[1];
        r = number < LAYERS_MAX ? stream_expand(fd, pipe_fd, fault) : -E2BIG;
        /* The applier reports the reason. */
        if (r == -ECANCELED)
            return 0;
        if (r < 0)
            return r;
        atomic_store(&shared->expanded[number], true);
    }
}

static int applier_body(void *data, struct fault *fault)
{
    const struct layers_task *task = data;
    struct layers_shared *shared = task->shared;
    for (size_t number = 0;; number++) {
        OWNED_FD int fd = -1;
        struct digest diff_id = {""};
        int r = layer_receive(task->socket_fd, &diff_id, &fd, 1);
        if (r <= 0)
            return r < 0 ? fault_set(fault, -r, "cannot receive a layer: %m") : 0;
        const struct layer_source layer = {fd, &diff_id, &shared->expanded[number]};
        r = number < LAYERS_MAX ? extract_layer(&layer, &shared->usage, fault) : -E2BIG;
        /* The expander reports the reason. */
        if (r == -ECANCELED)
            return 0;
        if (r < 0)
            return r;
        atomic_fetch_add(&shared->applied, 1);
    }
}

static int layers_child_start(struct layers *layers, size_t which, const char *root,
                              struct fault *fault)
{
    static int (*const bodies[LAYERS_CHILDREN])(void *, struct fault *) = {
        [LAYERS_EXPANDER] = expander_body,
        [LAYERS_APPLIER] = applier_body,
    };
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return fault_set(fault, errno, "cannot make a socket pair: %m");
    layers->socket_fds[which] = ends[0];
    OWNED_FD int child_fd = ends[1];
    struct layers_task task = {layers->shared, child_fd};
    const struct image_jail jail = {
        .root = root,
        .body = bodies[which],
        .data = &task,
        .fds = &child_fd,
        .fd_count = 1,
    };
    return jailed_start(&jail, &layers->children[which], fault);
}

int layers_start(struct layers *layers, const char *root, struct fault *fault)
{
    void *pages = mmap(NULL, sizeof(*layers->shared), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return fault_set(fault, errno, "cannot map memory to share with a child: %m");
    layers->shared = pages;
    int r = 0;
    for (size_t i = 0; r == 0 && i < LAYERS_CHILDREN; i++)
        r = layers_child_start(layers, i, root, fault);
    return r;
}

/* Finds the reason why a child ended early. A negative errno. */
static int layers_cause(struct layers *layers, struct fault *fault)
{
    for (size_t i = 0; i < LAYERS_CHILDREN; i++)
        fd_close(&layers->socket_fds[i]); /* so the other child ends, too */
    int r = subprocess_wait_all(layers->children, LAYERS_CHILDREN, NULL, fault);
    if (r == 0)
        r = jailed_check(&layers->children[LAYERS_APPLIER], fault);
    if (r == 0)
        r = jailed_check(&layers->children[LAYERS_EXPANDER], fault);
    return r < 0 ? r : fault_set(fault, EPROTO, "a child that unpacks layers ended early");
}

/* Hands a layer to one of the children. 0 or a negative errno. */
static int layer_hand(struct layers *layers, size_t which, const struct digest *diff_id, int *fds,
                      size_t count, struct fault *fault)
{
    const struct fd_message message = {(void *)diff_id, sizeof(*diff_id), fds, count};
    int r = fd_message_send(layers->socket_fds[which], &message);
    /* The socket is full: hundreds of layers are queued. */
    while (r == -EAGAIN) {
        r = layers_attend(layers, fault);
        if (r < 0)
            return r;
        poll(NULL, 0, FULL_MILLISECONDS);
        r = fd_message_send(layers->socket_fds[which], &message);
    }
    if (r == -EPIPE || r == -ECONNRESET)
        return layers_cause(layers, fault);
    return r < 0 ? fault_set(fault, -r, "cannot pass a layer to the unpacking process: %m") : 0;
}

int layers_give(struct layers *layers, int fd, const struct digest *diff_id, struct fault *fault)
{
    char path[64];
    int ends[2];
    struct stat status;
    if (layers->given_count == LAYERS_MAX)
        return fault_set(fault, E2BIG, "the image has more than %d layers", LAYERS_MAX);
    /* Reopened read-only: it has its own position, and the child cannot change the download. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    OWNED_FD int own_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (own_fd < 0 || fstat(own_fd, &status) < 0)
        return fault_set(fault, errno, "cannot open a layer to read it: %m");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "cannot make a pipe: %m");
    OWNED_FD int read_fd = ends[0];
    OWNED_FD int write_fd = ends[1];
    (void)fcntl(write_fd, F_SETPIPE_SZ, PIPE_SIZE);
    int r = layer_hand(layers, LAYERS_APPLIER, diff_id, &read_fd, 1, fault);
    if (r == 0)
        r = layer_hand(layers, LAYERS_EXPANDER, diff_id, (int[]){own_fd, write_fd}, 2, fault);
    if (r < 0)
        return r;
    layers->given_fds[layers->given_count++] = fd_take(&own_fd);
    layers->given_bytes += (uint64_t)status.st_size;
    return 0;
}

int layers_attend(struct layers *layers, struct fault *fault)
{
    int r = subprocess_poll_all(layers->children, LAYERS_CHILDREN, fault);
    for (size_t i = 0; r == 0 && i < LAYERS_CHILDREN; i++)
        if (layers->children[i].ended)
            r = layers_cause(layers, fault);
    return r;
}

struct layers_progress {
    const struct layers *layers;
    struct progress *progress;
};

static void layers_tick(void *data)
{
    const struct layers_progress *at = data;
    uint64_t done = 0;
    for (size_t i = 0; i < at->layers->given_count; i++) {
        off_t position = lseek(at->layers->given_fds[i], 0, SEEK_CUR);
        done += position > 0 ? (uint64_t)position : 0;
    }
    progress_amount(at->progress, done, at->layers->given_bytes);
}

int layers_finish(struct layers *layers, struct progress *progress, struct fault *fault)
{
    struct layers_progress at = {layers, progress};
    const struct subprocess_observer observer = {.tick = layers_tick, .data = &at};
    for (size_t i = 0; i < LAYERS_CHILDREN; i++)
        fd_close(&layers->socket_fds[i]);
    int r = subprocess_wait_all(layers->children, LAYERS_CHILDREN, &observer, fault);
    if (r == 0 && atomic_load(&layers->shared->applied) != layers->given_count)
        r = layers_cause(layers, fault);
    return r;
}

void layers_release(struct layers *layers)
{
    for (size_t i = 0; i < LAYERS_CHILDREN; i++) {
        subprocess_release(&layers->children[i]);
        fd_close(&layers->socket_fds[i]);
    }
    for (size_t i = 0; i < layers->given_count; i++)
        fd_close(&layers->given_fds[i]);
    layers->given_count = 0;
    if (layers->shared != NULL)
        munmap(layers->shared, sizeof(*layers->shared));
    layers->shared = NULL;
}
