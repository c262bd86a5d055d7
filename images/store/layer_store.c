#include "images/store/layer_store.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567"; /* 32, so that none is favoured */

bool layer_store_id_is_valid(const char *id)
{
    return strlen(id) == LAYER_ID_SIZE - 1 && strspn(id, letters) == LAYER_ID_SIZE - 1;
}

static int id_make(char id[LAYER_ID_SIZE])
{
    unsigned char bytes[LAYER_ID_SIZE - 1];
    /* Up to 256 bytes are returned in full: random(7). */
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        id[i] = letters[bytes[i] % 32];
    id[LAYER_ID_SIZE - 1] = '\0';
    return 0;
}

/* Whether the opened directory still has its name: a sweep may have removed it. */
static bool is_in_place(int layers_fd, const char *id, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(layers_fd, id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int layer_store_lock(int layers_fd, const char *id, int operation, int *ret_fd)
{
    OWNED_FD int fd = openat(layers_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, operation | LOCK_NB) < 0)
        return -errno;
    if (!is_in_place(layers_fd, id, fd))
        return -ENOENT;
    *ret_fd = fd_take(&fd);
    return 0;
}

int layer_store_begin(int images_fd, struct layer *ret_layer, struct fault *fault)
{
    if (mkdirat(images_fd, "../layers", 0755) < 0 && errno != EEXIST)
        return fault_set(fault, errno, "cannot make the directory of layers: %m");
    OWNED_FD int layers_fd = openat(images_fd, "../layers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (layers_fd < 0)
        return fault_set(fault, errno, "cannot open the directory of layers: %m");
    for (;;) {
        struct layer layer = LAYER_NONE;
        int r = id_make(layer.id);
        if (r == 0 && mkdirat(layers_fd, layer.id, 0755) < 0)
            r = -errno;
        if (r < 0)
            return fault_set(fault, -r, "cannot make the directory of a layer: %m");
        r = layer_store_lock(layers_fd, layer.id, LOCK_SH, &layer.fd);
        if (r == 0) {
            *ret_layer = layer;
            return 0;
        }
        /* A sweep may have taken it for a dead one before it was locked: try another. */
        if (r != -ENOENT && r != -EWOULDBLOCK)
            return fault_set(fault, -r, "cannot lock the directory of a layer: %m");
    }
}

void layer_store_release(struct layer *layer)
{
    fd_close(&layer->fd);
}

int layer_store_open(const char *store, int *ret_fd)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/layers", store) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

int layer_store_hold(const char *store, const char *id, int *ret_fd)
{
    OWNED_FD int layers_fd = -1;
    int r = layer_store_open(store, &layers_fd);
    if (r == 0)
        r = layer_store_lock(layers_fd, id, LOCK_SH, ret_fd);
    return r == -EWOULDBLOCK ? -ENOENT : r;
}
