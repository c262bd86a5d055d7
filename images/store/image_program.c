#include "images/store/image_program.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/rootfs.h"

#include <errno.h>
#include <stdio.h>

static int name_in_tree(const char *tree, const char *program, char **ret_name, struct fault *fault)
{
    OWNED(rootfs_close) struct rootfs rootfs = ROOTFS_NONE;
    int r = rootfs_open(tree, &rootfs, fault);
    return r < 0 ? r : rootfs_name_program(&rootfs, program, ret_name, fault);
}

int image_program_name(const struct image *image, const char *program, char **ret_name,
                       struct fault *fault)
{
    if (image->layer_names == NULL)
        return name_in_tree(image->rootfs, program, ret_name, fault);
    size_t count = 0;
    while (image->layer_names[count] != NULL)
        count++;
    int r = 1;
    for (size_t i = count; r == 1 && i > 0; i--) {
        OWNED_MEMORY char *tree = NULL;
        if (asprintf(&tree, "%s/%s", image->rootfs, image->layer_names[i - 1]) < 0) {
            tree = NULL;
            return fault_set(fault, ENOMEM, "out of memory");
        }
        r = name_in_tree(tree, program, ret_name, fault);
    }
    return r;
}
