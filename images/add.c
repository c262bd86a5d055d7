/*
 * Theory of operation. Under the lock of the result's name, with the layers of the image held:
 *
 *     images/.building-NAME.XXXXXX/upper/      what installers write; becomes layers/ID/tree
 *     images/.building-NAME.XXXXXX/work/       overlayfs' own
 *     images/.building-NAME.XXXXXX/rootfs/     where it is mounted, in the child's mount namespace
 *     images/.building-NAME.XXXXXX/image/      without mounts: the merged layers; rootfs is then a copy, for
 *                                              installers, and what differs becomes upper (layer_copy.h)
 *     images/.building-NAME.XXXXXX/scratch/    what the host's apt downloads, and copies of settings' files
 *
 * Each installer is a jailed child (jailed.h) with the overlay, or the copy, as its root, no capability, the build profile
 * and the host's network. Its only mapped id is uid 0; in tier C it has a user of its own (install_root.h). Of the host
 * it sees only the settings of package indexes (host_settings.h): read-only, or copies. Afterwards a separate jailed child
 * cleans the upper directory (upper_layer.h), which becomes a layer named in the new record.
 */
#include "images/add.h"

#include "images/base/interrupt.h"
#include "images/base/room.h"
#include "images/build/contents.h"
#include "images/build/staging.h"
#include "images/build/system.h"
#include "images/build/upper_layer.h"
#include "images/store/image_record.h"
#include "images/store/image_use.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS_MAX 4095 /* one page including NUL: mount(2) */

static void used_release(struct used_image **used)
{
    image_use_end(*used);
}

/* An addition in progress. */
struct adding {
    const struct addition *addition;
    struct staging place;
    struct host_settings settings;
    struct layer layer;
    struct buffer options;
    char upper[PATH_MAX], image[PATH_MAX];
    struct layer_copy copy;
    struct image result; /* shallow copy: points into `image` and into this struct */
    struct image_layer *layers; /* owned; the texts belong to the image and to this struct */
    char *origin, *created, *summary;
    uint64_t added_bytes;
};

static void adding_release(struct adding *adding)
{
    layer_copy_release(&adding->copy);
    layer_store_release(&adding->layer);
    host_settings_release(&adding->settings);
    buffer_release(&adding->options);
    free(adding->layers);
    free(adding->origin);
    free(adding->created);
    free(adding->summary);
    staging_release(&adding->place);
}

static int options_compose(struct adding *adding, const struct image *image, struct fault *fault)
{
    struct buffer *options = &adding->options;
    int r = buffer_append_text(options, "userxattr,lowerdir=");
    for (size_t i = image->layer_count; r == 0 && i > 0; i--)
        r = buffer_format(options, "layers/%s/" LAYER_TREE "%s", image->layers[i - 1].id,
                          i > 1 ? ":" : "");
    if (r == 0 && image_plan_has_mounts())
        r = buffer_format(options, ",upperdir=images/%1$s/upper,workdir=images/%1$s/work",
                          adding->place.name);
    if (r == 0 && buffer_string(options) == NULL)
        r = -ENOMEM;
    return r < 0 ? fault_set(fault, -r, "image %s has more layers than can be mounted", image->name)
                 : 0;
}

static int directories_make(struct adding *adding, struct fault *fault)
{
    static const char *const names[] = {"upper", "image", "work"};
    char *const paths[] = {adding->upper, adding->image, NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/images/%s/%s", adding->addition->store,
                              adding->place.name, names[i]);
        if (length >= PATH_MAX || mkdir(path, 0755) < 0)
            return fault_set(fault, errno, "cannot make directories in the image store: %m");
        if (paths[i] != NULL)
            memcpy(paths[i], path, sizeof(path));
    }
    return 0;
}

/* Restores the mount points of a run; if an installer replaced one, that is its fault. */
static int places_body(void *data, struct fault *fault)
{
    (void)data;
    return system_provide_directories(fault);
}

static int install(struct adding *adding, const struct image *image, struct progress *progress,
                   struct fault *fault)
{
    struct layer_copy *copy = image_plan_has_mounts() ? NULL : &adding->copy;
    const char *store = adding->addition->store;
    struct image_jail jail = {.root = store, .layers = buffer_string(&adding->options)};
    int r = 0;
    if (copy != NULL) {
        progress_step(progress, "copying the image, since this host refuses mounts");
        *copy = LAYER_COPY_NONE;
        copy->work = adding->place.rootfs;
        copy->upper = adding->upper;
        r = layer_copy_open(copy, store, jail.layers, adding->image, fault);
        jail = (struct image_jail){.root = copy->work};
    }
    jail.network = true;
    const struct install_site site = {
        .image = image,
        .store = store,
        .upper = adding->upper,
        .copy = copy,
        .scratch = adding->place.scratch,
        .jail = &jail,
        .settings = &adding->settings,
        .progress = progress,
    };
    if (r == 0)
        r = install_all(&adding->addition->installation, &site, fault);
    if (r < 0)
        return r;
    jail.network = false;
    jail.body = places_body;
    r = jailed_run(&jail, NULL, fault);
    return r == 0 && copy != NULL ? layer_copy_take(copy, fault) : r;
}

/* Composes the record of the result: that of the image plus one layer. */
static int result_compose(struct adding *adding, const struct image *image, struct fault *fault)
{
    const struct addition *addition = adding->addition;
    struct image *result = &adding->result;
    size_t count = image->layer_count;
    adding->layers = calloc(count + 1, sizeof(*adding->layers));
    if (adding->layers == NULL)
        return fault_set(fault, ENOMEM, "no memory for the record of the image");
    memcpy(adding->layers, image->layers, count * sizeof(*adding->layers));
    struct image_layer *layer = &adding->layers[count];
    *result = *image;
    result->name = (char *)addition->result;
    result->layers = adding->layers;
    result->layer_count = count + 1;
    layer->origin = adding->origin = strdup(addition->origin);
    layer->created = adding->created = staging_time();
    static const char command[] = "images add ";
    const char *added = addition->origin;
    if (strncmp(added, command, strlen(command)) == 0)
        added += strlen(command);
    if (asprintf(&adding->summary, "%s%sadded: %s", image->summary,
                 image->summary[0] != '\0' ? "; " : "", added) < 0)
        adding->summary = NULL;
    if (layer->origin == NULL || layer->created == NULL || adding->summary == NULL)
        return fault_set(fault, ENOMEM, "no memory for the record of the image");
    result->summary = adding->summary;
    result->created = layer->created;
    return 0;
}

/* Turns the installed files into a layer and the staging directory into the image. */
static int result_publish(struct adding *adding, const struct publish_lock *lock,
                          struct fault *fault)
{
    static const char *const meanwhile[] = {"image", "work", "rootfs", "scratch"};
    struct image *result = &adding->result;
    if (adding->layers == NULL)
        return fault_set(fault, EINVAL, "the new image has no record yet");
    struct image_layer *layer = &adding->layers[result->layer_count - 1];
    int r = layer_store_begin(lock->images_fd, &adding->layer, fault);
    if (r == 0)
        r = publish_keep_tree(lock, adding->place.name, "upper", &adding->layer, fault);
    if (r == 0)
        r = contents_write(adding->layer.fd, fault);
    if (r < 0)
        return r;
    memcpy(layer->id, adding->layer.id, sizeof(layer->id));
    adding->added_bytes = layer->size_bytes;
    result->size_bytes += layer->size_bytes;
    result->file_count += layer->file_count;
    OWNED_FD int fd =
        openat(lock->images_fd, adding->place.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot open the directory of the new image: %m");
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(meanwhile); i++)
        r = tree_remove(fd, meanwhile[i]);
    if (r < 0)
        return fault_set(fault, -r, "cannot remove temporary files: %m");
    r = image_record_write(fd, result, fault);
    if (r == 0 && interrupt_signal() != 0)
        r = interrupt_fault(fault);
    if (r == 0)
        r = publish_image(lock, adding->place.name, fault);
    if (r == 0)
        adding->place.name[0] = '\0';
    return r;
}

static int add_to(struct adding *adding, const struct image *image, const struct publish_lock *lock,
                  struct progress *progress, struct fault *fault)
{
    if (image->layer_count == 0)
        return fault_set(fault, EINVAL,
                         "the image %s is of an older version, which knew no layers; make it again "
                         "with: code-sandbox-mcp fetch --force %s",
                         image->name, image->name);
    if (image->layer_count == IMAGE_LAYERS_MAX)
        return fault_set(fault, E2BIG, "the image %s has %d layers, and more cannot be mounted",
                         image->name, IMAGE_LAYERS_MAX);
    struct room least = {ROOM_UNKNOWN_BYTES, ROOM_FILES};
    if (!image_plan_has_mounts()) { /* a copy of the image is needed, too */
        least.bytes += image->size_bytes;
        least.files += image->file_count;
    }
    int r = room_check(adding->addition->store, "a new layer", &least, fault);
    if (r == 0)
        r = staging_open(&adding->place, adding->addition->store, lock, fault);
    if (r == 0)
        r = directories_make(adding, fault);
    if (r == 0)
        r = options_compose(adding, image, fault);
    if (r == 0)
        r = host_settings_read(&adding->settings, adding->place.scratch, fault);
    if (r == 0)
        host_settings_tell(&adding->settings, progress);
    if (r == 0)
        r = install(adding, image, progress, fault);
    if (r == 0)
        r = result_compose(adding, image, fault);
    if (r < 0)
        return r;
    progress_step(progress, "keeping the layer");
    r = upper_layer_clean(adding->upper, adding->settings.files, adding->settings.file_count,
                          &adding->layers[adding->result.layer_count - 1], fault);
    return r == 0 ? result_publish(adding, lock, fault) : r;
}

static int add_locked(const struct addition *addition, const struct publish_lock *lock,
                      struct progress *progress, struct fault *fault)
{
    OWNED(image_release) struct image other = {0};
    if (strcmp(addition->name, addition->result) != 0 &&
        image_open(addition->store, addition->result, &other, NULL) == 0)
        return fault_set(fault, EEXIST,
                         "the image %s exists already: add to it, or remove it with: "
                         "code-sandbox-mcp images remove %s",
                         addition->result, addition->result);
    struct used_images list = {0};
    OWNED(used_release) struct used_image *used = NULL;
    int r = image_use(&list, addition->store, addition->name, &used, fault);
    if (r < 0)
        return r;
    OWNED(adding_release)
    struct adding adding = {.addition = addition,
                            .copy = LAYER_COPY_NONE,
                            .layer = LAYER_NONE,
                            .options = BUFFER(OPTIONS_MAX)};
    r = add_to(&adding, &used->image, lock, progress, fault);
    if (r < 0)
        return r;
    char size[32];
    progress_close(progress);
    progress_note(progress, "done: a layer of %s in %lld s",
                  progress_size_text(adding.added_bytes, size),
                  (long long)((clock_now() - progress->started) / NANOSECONDS_PER_SECOND));
    return 0;
}

int add_image(const struct addition *addition, struct fault *fault)
{
    int r = image_name_check(addition->name, fault);
    if (r == 0)
        r = image_name_check(addition->result, fault);
    if (r == 0)
        r = image_plan_check_programs(fault);
    if (r < 0)
        return r;
    struct progress progress;
    progress_open(&progress, addition->result, false);
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    r = staging_lock(addition->store, addition->result, &lock, &progress, fault);
    if (r < 0)
        return r;
    r = add_locked(addition, &lock, &progress, fault);
    staging_clear_layers(addition->store, &progress);
    progress_close(&progress);
    return r;
}
