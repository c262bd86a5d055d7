#include "images/store/image_program.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/rootfs.h"

#include <stdio.h>
#include <string.h>

static int name_in_tree(const char *tree, const char *program, char **ret_name, struct fault *fault)
{
    OWNED(rootfs_close) struct rootfs rootfs = ROOTFS_NONE;
    int r = rootfs_open(tree, &rootfs, fault);
    return r < 0 ? r : rootfs_name_program(&rootfs, program, ret_name, fault);
}

/* The whole image, or its layer of that number from the top; owned by the caller. NULL: there is none, or no memory. */
static char *tree_of(const struct image *image, size_t number)
{
    char *tree = NULL;
    size_t count = 0;
    while (image->layer_names != NULL && image->layer_names[count] != NULL)
        count++;
    if (image->layer_names == NULL)
        return number == 0 ? strdup(image->rootfs) : NULL;
    return number < count && asprintf(&tree, "%s/%s", image->rootfs,
                                      image->layer_names[count - 1 - number]) >= 0
               ? tree
               : NULL;
}

int image_program_name(const struct image *image, const char *program, char **ret_name,
                       struct fault *fault)
{
    int r = 1;
    for (size_t i = 0; r == 1; i++) {
        OWNED_MEMORY char *tree = tree_of(image, i);
        if (tree == NULL)
            break;
        r = name_in_tree(tree, program, ret_name, fault);
    }
    return r;
}

bool image_has_program(const struct image *image, const char *program)
{
    bool has = false;
    for (size_t i = 0; !has; i++) {
        OWNED_MEMORY char *tree = tree_of(image, i);
        OWNED(rootfs_close) struct rootfs rootfs = ROOTFS_NONE;
        if (tree == NULL)
            break;
        has = rootfs_open(tree, &rootfs, NULL) == 0 && rootfs_names_program(&rootfs, program);
    }
    return has;
}
