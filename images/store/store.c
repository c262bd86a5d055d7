#include "images/store/store.h"

#include "images/store/catalog.h"
#include "images/store/image_record.h"
#include "images/store/layer_store.h"
#include "images/store/xdg.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define COMMAND "code-sandbox-mcp"

int store_path(char **ret_path, struct fault *fault)
{
    OWNED_MEMORY char *data = NULL;
    char *path = NULL;
    int r = xdg_directory("XDG_DATA_HOME", ".local/share", &data);
    if (r == -ENOENT)
        return fault_set(
            fault, ENOENT,
            "cannot determine where images are kept: neither HOME nor XDG_DATA_HOME is set "
            "to an absolute path and user %u has no home directory; set one of them",
            (unsigned)getuid());
    if (r < 0 || asprintf(&path, "%s/" COMMAND, data) < 0)
        return fault_set(fault, ENOMEM, "no memory for the path of the image store");
    *ret_path = path;
    return 0;
}

/* Opens STORE/images; -ENOENT without a fault when it is absent. */
static int images_open(const char *store, int *ret_fd, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/images", store) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "no memory for the path of the image store");
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0)
        return fault_set(fault, errno, "cannot open the image store %s: %m", path);
    *ret_fd = fd;
    return 0;
}

/* Suggests the image in the store or the catalog with the most similar name. */
static int image_absent(const char *store, const char *name, struct fault *fault)
{
    struct image *images = NULL;
    size_t count = 0, recipe_count;
    fault_identify(fault, "image_missing");
    if (recipe_find(name) != NULL)
        return fault_set(fault, ENOENT,
                         "the image %s has not been fetched yet; fetch it with: " COMMAND
                         " fetch %s",
                         name, name);
    struct spelling spelling = spelling_of(name);
    if (image_list(store, &images, &count, NULL) == 0)
        for (size_t i = 0; i < count; i++)
            spelling_offer(&spelling, images[i].name);
    const struct recipe *recipes = recipe_list(&recipe_count);
    for (size_t i = 0; i < recipe_count; i++)
        spelling_offer(&spelling, recipes[i].name);
    if (spelling.nearest != NULL)
        fault_set(fault, ENOENT, "there is no image %s: did you mean %s?", name, spelling.nearest);
    else
        fault_set(fault, ENOENT,
                  "there is no image %s; make one from an archive, a directory or an image of a "
                  "registry with: " COMMAND " fetch %s --from SOURCE",
                  name, name);
    image_list_free(images, count);
    return -ENOENT;
}

static int image_fill_paths(const char *store, const char *name, struct image *image)
{
    image->name = strdup(name);
    if (asprintf(&image->directory, "%s/images/%s", store, name) < 0)
        image->directory = NULL;
    return image->name && image->directory ? 0 : -ENOMEM;
}

/* Fills in the paths of the layers, once the record is read. */
static int image_fill_rootfs(const char *store, struct image *image)
{
    int r;
    if (image->layer_count == 0)
        r = asprintf(&image->rootfs, "%s/rootfs", image->directory);
    else if (image->layer_count == 1)
        r = asprintf(&image->rootfs, "%s/layers/%s/" LAYER_TREE, store, image->layers[0].id);
    else
        r = asprintf(&image->rootfs, "%s/layers", store);
    if (r < 0) {
        image->rootfs = NULL;
        return -ENOMEM;
    }
    if (image->layer_count < 2)
        return 0;
    image->layer_names = calloc(image->layer_count + 1, sizeof(*image->layer_names));
    for (size_t i = 0; image->layer_names != NULL && i < image->layer_count; i++) {
        if (asprintf(&image->layer_names[i], "%s/" LAYER_TREE, image->layers[i].id) < 0) {
            image->layer_names[i] = NULL;
            return -ENOMEM;
        }
    }
    return image->layer_names != NULL ? 0 : -ENOMEM;
}

/* As image_open(); -ENOENT without a fault when the image is absent. */
static int image_load(int images_fd, const char *store, const char *name, struct image *ret_image,
                      struct fault *fault)
{
    OWNED_FD int fd = openat(images_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return -ENOENT;
    if (fd < 0)
        return fault_set(fault, errno, "cannot open the image %s in %s: %m", name, store);
    OWNED(image_release) struct image image = {0};
    int r = image_fill_paths(store, name, &image);
    if (r < 0)
        return fault_set(fault, -r, "no memory for the image %s", name);
    struct fault cause = {0};
    r = image_record_read(fd, &image, &cause);
    if (r == -ENOENT)
        return r;
    if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
        return fault_set(fault, -r, "cannot read the image %s: %s", image.directory, cause.text);
    if (r < 0)
        return fault_set(fault, -r,
                         "the image %s is not usable: %s; make it again with: " COMMAND
                         " fetch --force %s%s",
                         image.directory, cause.text,
                         recipe_find(name) != NULL ? "" : "--from FILE --name ", name);
    r = image_fill_rootfs(store, &image);
    if (r < 0)
        return fault_set(fault, -r, "no memory for the image %s", name);
    *ret_image = image;
    image = (struct image){0};
    return 0;
}

bool image_is_there(const char *store, const char *name)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/images/%s/" RECORD_FILE, store, name) < 0)
        path = NULL;
    return path != NULL && access(path, F_OK) == 0;
}

int image_open(const char *store, const char *name, struct image *ret_image, struct fault *fault)
{
    int r = image_name_check(name, fault);
    if (r < 0)
        return r;
    OWNED_FD int images_fd = -1;
    r = images_open(store, &images_fd, fault);
    if (r == 0)
        r = image_load(images_fd, store, name, ret_image, fault);
    return r == -ENOENT ? image_absent(store, name, fault) : r;
}

static int compare_images(const void *left, const void *right)
{
    const struct image *a = left, *b = right;
    return strcmp(a->name, b->name);
}

struct image_array {
    struct image *images;
    size_t count;
};

static void image_array_release(struct image_array *array)
{
    image_list_free(array->images, array->count);
}

/* Adds the image if it is complete. 0 or a negative errno. */
static int image_array_add(struct image_array *array, int images_fd, const char *store,
                           const char *name, struct fault *fault)
{
    struct image image = {0};
    if (image_name_check(name, NULL) < 0)
        return 0;
    int r = image_load(images_fd, store, name, &image, fault);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    struct image *grown = reallocarray(array->images, array->count + 1, sizeof(*grown));
    if (grown == NULL) {
        image_release(&image);
        return fault_set(fault, ENOMEM, "no memory for the list of images");
    }
    array->images = grown;
    array->images[array->count++] = image;
    return 0;
}

static int list_images(const char *store, bool strict, struct image_array *array,
                       struct fault *fault)
{
    OWNED_FD int images_fd = -1;
    int r = images_open(store, &images_fd, fault);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    OWNED(directory_release) DIR *directory = directory_open(images_fd, ".");
    if (directory == NULL)
        return fault_set(fault, errno, "cannot read the image store %s: %m", store);
    struct dirent *entry;
    while ((entry = directory_next(directory)) != NULL) {
        r = image_array_add(array, images_fd, store, entry->d_name, strict ? fault : NULL);
        if (r < 0 && (strict || r == -ENOMEM))
            return fault_set(fault, -r, "cannot list the images: %m");
    }
    if (array->count > 0)
        qsort(array->images, array->count, sizeof(*array->images), compare_images);
    return 0;
}

static int list_take(const char *store, bool strict, struct image **ret_images, size_t *ret_count,
                     struct fault *fault)
{
    OWNED(image_array_release) struct image_array array = {0};
    int r = list_images(store, strict, &array, fault);
    if (r < 0)
        return r;
    *ret_images = pointer_take(&array.images);
    *ret_count = array.count;
    array.count = 0;
    return 0;
}

int image_list(const char *store, struct image **ret_images, size_t *ret_count, struct fault *fault)
{
    return list_take(store, false, ret_images, ret_count, fault);
}

int image_list_strict(const char *store, struct image **ret_images, size_t *ret_count,
                      struct fault *fault)
{
    return list_take(store, true, ret_images, ret_count, fault);
}

void image_list_free(struct image *images, size_t count)
{
    for (size_t i = 0; i < count; i++)
        image_release(&images[i]);
    free(images);
}
