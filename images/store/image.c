#include "images/store/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void image_release(struct image *image)
{
    for (size_t i = 0; i < image->home_link_count; i++) {
        free((char *)image->home_links[i].path);
        free((char *)image->home_links[i].target);
    }
    for (char **pair = image->environment; pair != NULL && *pair != NULL; pair++)
        free(*pair);
    for (size_t i = 0; i < image->layer_count; i++) {
        free(image->layers[i].origin);
        free(image->layers[i].created);
    }
    for (char **name = image->layer_names; name != NULL && *name != NULL; name++)
        free(*name);
    free(image->layers);
    free(image->layer_names);
    free(image->home_links);
    free(image->environment);
    free(image->name);
    free(image->directory);
    free(image->rootfs);
    free(image->source);
    free(image->created);
    free(image->summary);
    *image = (struct image){0};
}

int image_name_check(const char *name, struct fault *fault)
{
    size_t length = strnlen(name, IMAGE_NAME_MAX + 1);
    if (length == 0 || length > IMAGE_NAME_MAX || name[0] == '.' || name[0] == '-' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != length)
        return fault_set(fault, EINVAL,
                         "\"%.*s\" is no image name: 1 to %d of a-z, 0-9, '.', '_' and '-', the "
                         "first not '.' or '-'",
                         IMAGE_NAME_MAX, name, IMAGE_NAME_MAX);
    return 0;
}
