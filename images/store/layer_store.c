#include "images/store/layer_store.h"

#include "images/base/tree.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567"; /* 32, so that none is favoured */

bool layer_id_is_valid(const char *id)
{
    return strlen(id) == LAYER_ID_SIZE - 1 && strspn(id, letters) == LAYER_ID_SIZE - 1;
}

static int id_make(char id[LAYER_ID_SIZE])
{
    unsigned char bytes[LAYER_ID_SIZE - 1];
    /* Up to 256 bytes come whole, random(7). */
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        id[i] = letters[bytes[i] % 32];
    id[LAYER_ID_SIZE - 1] = '\0';
    return 0;
}

/* Whether the directory that was opened still has its name: a sweep may have been faster. */
static bool is_in_place(int layers_fd, const char *id, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(layers_fd, id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* 0 and the descriptor; -ENOENT gone; -EWOULDBLOCK somebody has it in another way. */
static int layer_lock(int layers_fd, const char *id, int operation, int *ret_fd)
{
    OWNED_FD int fd = openat(layers_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, operation | LOCK_NB) < 0)
        return -errno;
    if (!is_in_place(layers_fd, id, fd))
        return -ENOENT;
    *ret_fd = fd_take(&fd);
    return 0;
}

int layer_begin(int images_fd, struct layer *ret_layer, struct fault *fault)
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
        r = layer_lock(layers_fd, layer.id, LOCK_SH, &layer.fd);
        if (r == 0) {
            *ret_layer = layer;
            return 0;
        }
        /* Taken for a dead one by a sweep, in between: another is as good. */
        if (r != -ENOENT && r != -EWOULDBLOCK)
            return fault_set(fault, -r, "cannot lock the directory of a layer: %m");
    }
}

void layer_release(struct layer *layer)
{
    fd_close(&layer->fd);
}

static int layers_open(const char *store, int *ret_fd)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/layers", store) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

int layer_hold(const char *store, const char *id, int *ret_fd)
{
    OWNED_FD int layers_fd = -1;
    int r = layers_open(store, &layers_fd);
    if (r == 0)
        r = layer_lock(layers_fd, id, LOCK_SH, ret_fd);
    return r == -EWOULDBLOCK ? -ENOENT : r;
}

/* All the records there are; each must be readable. */
struct records {
    struct image *images;
    size_t count;
};

static void records_release(struct records *records)
{
    image_list_free(records->images, records->count);
}

static bool is_named(const struct records *records, const char *id)
{
    for (size_t i = 0; i < records->count; i++)
        for (size_t j = 0; j < records->images[i].layer_count; j++)
            if (strcmp(records->images[i].layers[j].id, id) == 0)
                return true;
    return false;
}

static int records_read(const char *store, struct records *ret_records, struct fault *fault)
{
    return image_list_strict(store, &ret_records->images, &ret_records->count, fault);
}

/* Removes one that the first look found to be unnamed. 0 or a negative errno. */
static int sweep_layer(const char *store, int layers_fd, const char *id, struct sweep *sweep,
                       struct fault *fault)
{
    OWNED_FD int fd = -1;
    int r = layer_lock(layers_fd, id, LOCK_EX, &fd);
    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        sweep->held++;
        return 0;
    }
    /* Who makes an image lets go of its layers only when its record stands: so it is seen now. */
    OWNED(records_release) struct records records = {0};
    r = records_read(store, &records, fault);
    if (r < 0 || is_named(&records, id))
        return r;
    struct tree_size size = {0};
    (void)tree_measure(layers_fd, id, &size);
    r = tree_remove(layers_fd, id);
    if (r < 0)
        return fault_set(fault, -r, "cannot remove the layer %s of %s: %m; remove it by hand", id,
                         store);
    sweep->removed++;
    sweep->bytes += size.bytes;
    return 0;
}

int layers_sweep(const char *store, struct sweep *ret_sweep, struct fault *fault)
{
    struct sweep sweep = {0};
    OWNED_FD int layers_fd = -1;
    int r = layers_open(store, &layers_fd);
    if (r == -ENOENT) {
        *ret_sweep = sweep;
        return 0;
    }
    if (r < 0)
        return fault_set(fault, -r, "cannot open the layers of the image store %s: %m", store);
    OWNED(records_release) struct records records = {0};
    r = records_read(store, &records, fault);
    OWNED(directory_release) DIR *directory = directory_open(layers_fd, ".");
    struct dirent *entry;
    while (r == 0 && (entry = directory_next(directory)) != NULL)
        if (layer_id_is_valid(entry->d_name) && !is_named(&records, entry->d_name))
            r = sweep_layer(store, layers_fd, entry->d_name, &sweep, fault);
    *ret_sweep = sweep;
    return r;
}
