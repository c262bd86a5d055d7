#include "images/store/image_use.h"

#include "images/store/image_record.h"
#include "images/store/layer_store.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRIES 10 /* an image may be replaced while it is opened, but not every time */

static void used_image_free(struct used_image *used)
{
    for (size_t i = 0; i < used->layer_fd_count; i++)
        fd_close(&used->layer_fds[i]);
    free(used->layer_fds);
    if (used->annex.release != NULL)
        used->annex.release(used->annex.data);
    image_release(&used->image);
    free(used);
}

/* The status of image.json; all 0 when it is absent: image_open() reports that. */
static struct stat record_look(const char *store, const char *name)
{
    struct stat status = {0};
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/images/%s/" RECORD_FILE, store, name) < 0)
        path = NULL;
    else if (stat(path, &status) < 0)
        status = (struct stat){0};
    return status;
}

bool image_use_is_same_record(const struct stat *one, const struct stat *other)
{
    return one->st_ino != 0 && one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
           one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

/*
 * Holds all layers. 0; 1: a layer is being or has been removed, so the image was replaced; or a
 * negative errno.
 */
static int layers_hold(const char *store, struct used_image *used, struct fault *fault)
{
    const struct image *image = &used->image;
    used->layer_fds = calloc(image->layer_count + 1, sizeof(*used->layer_fds));
    if (used->layer_fds == NULL)
        return fault_set(fault, ENOMEM, "no memory for the image %s", image->name);
    for (size_t i = 0; i < image->layer_count; i++) {
        int r = layer_store_hold(store, image->layers[i].id, &used->layer_fds[i]);
        if (r == -ENOENT)
            return 1;
        if (r < 0)
            return fault_set(fault, -r, "cannot open layer %s of the image %s: %m",
                             image->layers[i].id, image->name);
        used->layer_fd_count++;
    }
    return 0;
}

/* As layers_hold(). */
static int open_once(const char *store, const char *name, struct used_image **ret_used,
                     struct fault *fault)
{
    struct used_image *used = calloc(1, sizeof(*used));
    if (used == NULL)
        return fault_set(fault, ENOMEM, "no memory for the image %s", name);
    used->record = record_look(store, name);
    int r = image_open(store, name, &used->image, fault);
    if (r == 0)
        r = layers_hold(store, used, fault);
    if (r != 0)
        used_image_free(used);
    else
        *ret_used = used;
    return r;
}

int image_use(struct used_images *list, const char *store, const char *name,
              struct used_image **ret_used, struct fault *fault)
{
    struct used_image *used = list->first;
    const struct stat record = record_look(store, name);
    while (used != NULL && (strcmp(used->image.name, name) != 0 ||
                            !image_use_is_same_record(&used->record, &record)))
        used = used->next;
    int r = used == NULL ? 1 : 0;
    for (int i = 0; r > 0 && i < TRIES; i++)
        r = open_once(store, name, &used, fault);
    if (r > 0)
        return fault_set(fault, ENOENT,
                         "the image %s lacks one of its layers; fetch it again with: "
                         "code-sandbox-mcp fetch --force %s",
                         name, name);
    if (r < 0)
        return r;
    if (used->users++ == 0) {
        used->list = list;
        LIST_PREPEND(list->first, used);
    }
    *ret_used = used;
    return 0;
}

void image_use_end(void *used)
{
    struct used_image *image = used;
    if (image == NULL || --image->users > 0)
        return;
    LIST_REMOVE(image->list->first, image);
    used_image_free(image);
}
