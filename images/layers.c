#include "images/layers.h"

#include "images/confine.h"
#include "images/extract.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define FULL_MILLISECONDS 50

/* Seen by both. */
struct layers_shared {
    struct tree_usage usage;
    atomic_size_t applied;
};

/* Takes the next layer from the parent: 1; 0 when there are no more; or a negative errno. */
static int layer_receive(struct digest *diff_id, int *ret_fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec bytes = {diff_id, sizeof(*diff_id)};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t got = recvmsg(CONFINED_FIRST_FD, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return got == 0 ? 0 : -errno;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (got != sizeof(*diff_id) || header == NULL || header->cmsg_type != SCM_RIGHTS)
        return -EPROTO;
    memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
    return 1;
}

static int layers_body(void *data, struct fault *fault)
{
    struct layers_shared *shared = data;
    for (;;) {
        OWNED_FD int fd = -1;
        struct digest diff_id = {""};
        int r = layer_receive(&diff_id, &fd);
        if (r <= 0)
            return r < 0 ? fault_set(fault, -r, "cannot receive a layer: %m") : 0;
        const struct tar_source source = {fd, TREE_LAYERS, &diff_id};
        r = tar_unpack(&source, &shared->usage, fault);
        if (r < 0)
            return r;
        atomic_fetch_add(&shared->applied, 1);
    }
}

int layers_start(struct layers *layers, const char *root, struct fault *fault)
{
    void *pages = mmap(NULL, sizeof(*layers->shared), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return fault_set(fault, errno, "cannot map memory to share with a child: %m");
    layers->shared = pages;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return fault_set(fault, errno, "cannot make a socket pair: %m");
    layers->socket_fd = ends[0];
    OWNED_FD int child_fd = ends[1];
    const struct confined confined = {
        .root = root,
        .body = layers_body,
        .data = layers->shared,
        .fds = &child_fd,
        .fd_count = 1,
    };
    return confined_start(&confined, &layers->child, fault);
}

static int layer_send(int socket_fd, int fd, const struct digest *diff_id)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec bytes = {(void *)diff_id, sizeof(*diff_id)};
    const struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    return sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int layers_give(struct layers *layers, int fd, const struct digest *diff_id, struct fault *fault)
{
    char path[64];
    struct stat status;
    if (layers->given_count == LAYERS_MAX)
        return fault_set(fault, E2BIG, "the image has more than %d layers", LAYERS_MAX);
    /* Anew and read-only: with a position of its own, and nothing of the download to be changed. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    OWNED_FD int own_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (own_fd < 0 || fstat(own_fd, &status) < 0)
        return fault_set(fault, errno, "cannot open a layer to read it: %m");
    int r = layer_send(layers->socket_fd, own_fd, diff_id);
    /* Hundreds wait already. */
    while (r == -EAGAIN) {
        r = layers_attend(layers, fault);
        if (r < 0)
            return r;
        poll(NULL, 0, FULL_MILLISECONDS);
        r = layer_send(layers->socket_fd, own_fd, diff_id);
    }
    if (r == -EPIPE || r == -ECONNRESET)
        r = children_wait(&layers->child, 1, NULL, fault); /* it says why it is gone */
    if (r == 0 && layers->child.ended)
        return confined_check(&layers->child, fault);
    if (r < 0)
        return fault_set(fault, -r, "cannot hand a layer to the child that unpacks it: %m");
    layers->given_fds[layers->given_count++] = fd_take(&own_fd);
    layers->given_bytes += (uint64_t)status.st_size;
    return 0;
}

int layers_attend(struct layers *layers, struct fault *fault)
{
    int r = children_look(&layers->child, 1, fault);
    if (r == 0 && layers->child.ended && layers->child.error == 0)
        r = fault_set(fault, EPROTO, "the child that unpacks layers ended early");
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
    const struct child_observer observer = {.tick = layers_tick, .data = &at};
    fd_close(&layers->socket_fd);
    int r = children_wait(&layers->child, 1, &observer, fault);
    if (r == 0)
        r = confined_check(&layers->child, fault);
    if (r == 0 && atomic_load(&layers->shared->applied) != layers->given_count)
        r = fault_set(fault, EPROTO, "not all layers were unpacked");
    return r;
}

void layers_release(struct layers *layers)
{
    child_release(&layers->child);
    for (size_t i = 0; i < layers->given_count; i++)
        fd_close(&layers->given_fds[i]);
    layers->given_count = 0;
    fd_close(&layers->socket_fd);
    if (layers->shared != NULL)
        munmap(layers->shared, sizeof(*layers->shared));
    layers->shared = NULL;
}
