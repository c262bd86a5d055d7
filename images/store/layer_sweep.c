#include "images/store/layer_sweep.h"

#include "images/store/layer_store.h"
#include "images/store/store.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <string.h>
#include <sys/file.h>

/* All records; each must be readable. */
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

/* Removes a layer that no record named at first. 0 or a negative errno. */
static int remove_unnamed(const char *store, int layers_fd, const char *id, struct sweep *sweep,
                          struct fault *fault)
{
    OWNED_FD int fd = -1;
    int r = layer_store_lock(layers_fd, id, LOCK_EX, &fd);
    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        sweep->held++;
        return 0;
    }
    /* A new image holds its layers only until its record is written, so read the records again. */
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

int layer_sweep(const char *store, struct sweep *ret_sweep, struct fault *fault)
{
    struct sweep sweep = {0};
    OWNED_FD int layers_fd = -1;
    int r = layer_store_open(store, &layers_fd);
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
        if (layer_store_id_is_valid(entry->d_name) && !is_named(&records, entry->d_name))
            r = remove_unnamed(store, layers_fd, entry->d_name, &sweep, fault);
    *ret_sweep = sweep;
    return r;
}
