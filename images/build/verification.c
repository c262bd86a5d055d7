#include "images/build/verification.h"

#include "images/build/contents.h"
#include "images/store/layer_store.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void layer_free(struct verified_layer *layer)
{
    for (size_t i = 0; i < layer->difference_count; i++)
        free(layer->differences[i].path);
    free(layer->differences);
    *layer = (struct verified_layer){0};
}

void verification_release(struct verification *verification)
{
    for (size_t i = 0; i < verification->layer_count; i++)
        layer_free(&verification->layers[i]);
    free(verification->layers);
    *verification = (struct verification){0};
}

/* A failed allocation is detected afterwards by comparing counts. */
static void difference_keep(void *data, const struct difference *difference)
{
    struct verified_layer *layer = data;
    struct found_difference *grown =
        reallocarray(layer->differences, layer->difference_count + 1, sizeof(*layer->differences));
    if (grown == NULL)
        return;
    layer->differences = grown;
    struct found_difference *kept = &grown[layer->difference_count];
    kept->path = strdup(difference->path);
    kept->what = difference->what;
    snprintf(kept->how, sizeof(kept->how), "%s", difference->how);
    layer->difference_count += kept->path != NULL;
}

static int layer_verify(int layer_fd, struct verified_layer *layer, struct fault *fault)
{
    OWNED(contents_release) struct contents made = {0};
    OWNED(contents_release) struct contents found = {0};
    int r = contents_read(layer_fd, &made, fault);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    layer->has_list = true;
    layer->entry_count = made.count;
    OWNED_FD int tree_fd = openat(layer_fd, LAYER_TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree_fd < 0)
        return fault_set(fault, errno, "cannot open the tree of layer %s: %m", layer->id);
    r = contents_take(tree_fd, &found, fault);
    if (r < 0)
        return r;
    size_t count = contents_compare(&made, &found, difference_keep, layer);
    return count == layer->difference_count
               ? 0
               : fault_set(fault, ENOMEM, "no memory for the differences of layer %s", layer->id);
}

int verification_add(struct verification *verification, const char *id, int layer_fd,
                     size_t *ret_number, struct fault *fault)
{
    for (size_t i = 0; i < verification->layer_count; i++) {
        if (strcmp(verification->layers[i].id, id) == 0) {
            *ret_number = i;
            return 0;
        }
    }
    struct verified_layer *grown =
        reallocarray(verification->layers, verification->layer_count + 1, sizeof(*grown));
    if (grown == NULL)
        return fault_set(fault, ENOMEM, "no memory for the result of layer %s", id);
    verification->layers = grown;
    struct verified_layer layer = {0};
    snprintf(layer.id, sizeof(layer.id), "%s", id);
    int r = layer_verify(layer_fd, &layer, fault);
    if (r < 0) {
        layer_free(&layer);
        return r;
    }
    *ret_number = verification->layer_count;
    grown[verification->layer_count++] = layer;
    return 0;
}
