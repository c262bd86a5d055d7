/*
 * Theory of operation. build_image() takes the lock of the name, sweeps leftovers of dead fetches,
 * and makes the image in a staging directory:
 *
 *     images/.building-NAME.XXXXXX/scratch/     apt's state and downloads, npm's root directory
 *     images/.building-NAME.XXXXXX/rootfs/      becomes layers/ID/tree
 *     images/.building-NAME.XXXXXX/image.json   written last
 *
 * The host's apt-get runs with our rights; it only downloads verified packages into scratch. The
 * host's npm runs jailed in a directory of scratch. Only jailed children (jailed.h), with rootfs as
 * their root, read archives and change the tree. Finally one rename publishes the image. All
 * children die with us. If we fail or are stopped, we remove the staging directory; if we are
 * killed, the next fetch of the name does.
 */
#include "images/build/build.h"

#include "images/base/file.h"
#include "images/base/interrupt.h"
#include "images/base/progress.h"
#include "images/build/contents.h"
#include "images/build/debian.h"
#include "images/build/postinstall.h"
#include "images/build/recipe_make.h"
#include "images/build/staging.h"
#include "images/registry/pull.h"
#include "images/registry/source.h"
#include "images/store/catalog.h"
#include "images/store/image_record.h"
#include "images/store/publish.h"
#include "images/unpack/jailed.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBIAN_SOURCE "Debian " DEBIAN_SUITE " packages"

/* An image in progress. */
struct making {
    const struct build *build;
    struct layer layer;
    const struct recipe *recipe; /* or NULL */
    struct staging place;
    struct provenance provenance;
    struct image image;
};

static void making_release(struct making *making)
{
    layer_store_release(&making->layer);
    image_release(&making->image);
    source_release_provenance(&making->provenance);
    staging_release(&making->place);
}

/* Makes the image from the registry named by a lock or the catalog. */
static int pull_make(struct making *making, const struct reference *reference,
                     struct progress *progress, struct fault *fault)
{
    const char *root = making->place.rootfs;
    const struct pull pull = {making->build->store, reference, root, progress};
    int r = pull_image(&pull, &making->provenance, fault);
    return r == 0 ? postinstall_archive(root, fault) : r;
}

/* When the file was changed last; of a directory, anything in it. INT64_MAX: that cannot be told. */
static int64_t change_newest(int parent_fd, const char *name, unsigned depth)
{
    struct stat about;
    if (depth > TREE_DEPTH_MAX ||
        fstatat(parent_fd, name, &about, depth > 0 ? AT_SYMLINK_NOFOLLOW : 0) < 0)
        return INT64_MAX;
    int64_t newest = about.st_mtime;
    if (!S_ISDIR(about.st_mode))
        return newest;
    OWNED(directory_release)
    DIR *directory =
        depth > 0 ? directory_open_itself(parent_fd, name) : directory_open(parent_fd, name);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd < 0)
        return INT64_MAX;
    for (struct dirent *entry; (entry = directory_next(directory)) != NULL;) {
        int64_t below = change_newest(fd, entry->d_name, depth + 1);
        newest = below > newest ? below : newest;
    }
    return newest;
}

/* Seconds for the record; 0: it is no path, or that cannot be told. */
static uint64_t source_change(const char *path)
{
    int64_t newest = access(path, F_OK) == 0 ? change_newest(AT_FDCWD, path, 0) : 0;
    return newest > 0 && newest < INT64_MAX ? (uint64_t)newest : 0;
}

/* Makes the image from the user's source. */
static int from_make(struct making *making, struct progress *progress, struct fault *fault)
{
    const struct source_site site = {making->build->store, making->place.rootfs,
                                     making->place.scratch, progress};
    making->image.source_changed = source_change(making->build->from);
    int r = source_make(making->build->from, &site, &making->provenance, fault);
    return r == 0 ? postinstall_archive(site.rootfs, fault) : r;
}

/* Makes an image of the catalog from the similar one in a registry. */
static int equal_make(struct making *making, struct progress *progress, struct fault *fault)
{
    struct reference reference;
    int r = reference_parse(making->recipe->reference, &reference, fault);
    if (r < 0)
        return r;
    making->image.summary = strdup(making->recipe->summary);
    making->recipe = NULL;
    return pull_make(making, &reference, progress, fault);
}

/* Makes an image of the catalog, from the first source available on this host. */
static int catalog_make(struct making *making, struct progress *progress, struct fault *fault)
{
    const struct recipe *recipe = making->recipe;
    if (making->build->source == SOURCE_REGISTRY || recipe->packages == NULL)
        return equal_make(making, progress, fault);
    struct fault absent = {0};
    const struct recipe_making packages = {
        .recipe = recipe,
        .place = &making->place,
        .locked = making->build->locked,
        .lock = &making->provenance.lock,
        .progress = progress,
    };
    int r = recipe_make(&packages, &absent);
    /*
     * -ENOENT: no apt or no Debian archive. A network error or a bad signature is no reason to try
     * a registry.
     */
    if (r != -ENOENT || making->build->source != SOURCE_ANY || recipe->reference == NULL ||
        packages.locked != NULL)
        return r < 0 ? fault_set(fault, -r, "%s", absent.text) : 0;
    progress_note(progress, "note: %s; trying %s", absent.text, recipe->reference);
    r = staging_empty(&making->place, fault);
    return r == 0 ? equal_make(making, progress, fault) : r;
}

static int records_write(struct making *making, int directory_fd, struct fault *fault)
{
    int r = lock_write(directory_fd, &making->provenance.lock, making->image.source, fault);
    return r == 0 ? image_record_write(directory_fd, &making->image, fault) : r;
}

/*
 * Turns the whole tree into one layer. The link `rootfs` is for users and for older programs, which
 * know no layers.
 */
static int layer_make(struct making *making, int directory_fd, struct fault *fault)
{
    struct image *image = &making->image;
    const struct staging *place = &making->place;
    int r = layer_store_begin(place->lock->images_fd, &making->layer, fault);
    if (r == 0)
        r = publish_keep_tree(place->lock, place->name, "rootfs", &making->layer, fault);
    if (r == 0)
        r = contents_write(making->layer.fd, fault);
    if (r < 0)
        return r;
    char target[64];
    snprintf(target, sizeof(target), "../../layers/%s/" LAYER_TREE, making->layer.id);
    if (symlinkat(target, directory_fd, "rootfs") < 0)
        return fault_set(fault, errno, "cannot make a link to the new layer: %m");
    image->layers = calloc(1, sizeof(*image->layers));
    char *origin = strdup(image->source);
    char *created = strdup(image->created);
    if (image->layers == NULL || origin == NULL || created == NULL) {
        free(origin);
        free(created);
        return fault_set(fault, ENOMEM, "no memory for the record of the image");
    }
    image->layers[0] = (struct image_layer){
        .origin = origin,
        .created = created,
        .size_bytes = image->size_bytes,
        .file_count = image->file_count,
    };
    memcpy(image->layers[0].id, making->layer.id, sizeof(making->layer.id));
    image->layer_count = 1;
    return 0;
}

static int record_make(struct making *making, struct fault *fault)
{
    struct image *image = &making->image;
    const struct staging *place = &making->place;
    image->name = strdup(making->build->name);
    image->created = staging_time();
    image->source =
        making->recipe == NULL
            ? pointer_take(&making->provenance.source)
            : strdup(making->recipe->node ? DEBIAN_SOURCE " and npm packages" : DEBIAN_SOURCE);
    image->environment = pointer_take(&making->provenance.configuration.environment);
    if (image->name == NULL || image->created == NULL || image->source == NULL)
        return fault_set(fault, ENOMEM, "no memory for the record of the image");
    int r = postinstall_inspect(place->rootfs, making->recipe, image, fault);
    if (r == 0 && image->summary == NULL)
        r = fault_set(fault, ENOMEM, "no memory for the record of the image");
    if (r < 0)
        return r;
    OWNED_FD int fd =
        openat(place->lock->images_fd, place->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot open the directory of the new image: %m");
    r = tree_remove(fd, "scratch");
    if (r < 0)
        return fault_set(fault, -r, "cannot remove the downloads of the fetch: %m");
    r = layer_make(making, fd, fault);
    return r == 0 ? records_write(making, fd, fault) : r;
}

static int making_run(struct making *making, const struct publish_lock *lock,
                      struct progress *progress, struct fault *fault)
{
    struct staging *place = &making->place;
    const struct build *build = making->build;
    int r = staging_open(place, build->store, lock, fault);
    if (r == 0)
        r = jailed_probe(place->rootfs, fault);
    if (r == 0 && making->recipe != NULL)
        r = catalog_make(making, progress, fault);
    else if (r == 0)
        r = build->from != NULL ? from_make(making, progress, fault)
                                : pull_make(making, build->reference, progress, fault);
    if (r == 0)
        r = record_make(making, fault);
    if (r == 0 && interrupt_signal() != 0)
        r = interrupt_fault(fault);
    if (r == 0)
        r = publish_image(lock, place->name, fault);
    if (r == 0)
        place->name[0] = '\0';
    return r;
}

static void done_tell(struct progress *progress, const struct image *image, bool made)
{
    progress_done(progress, &(struct progress_result){made, image->size_bytes, image->created,
                                                      image->summary});
}

static int image_make(const struct build *build, const struct publish_lock *lock,
                      struct progress *progress, struct fault *fault)
{
    const bool imported = build->from != NULL || build->reference != NULL;
    const char *recipe = build->locked != NULL ? build->locked->recipe : build->name;
    OWNED(making_release)
    struct making making = {
        .build = build,
        .layer = LAYER_NONE,
        .recipe = imported ? NULL : recipe_find(recipe),
    };
    if (making.recipe == NULL && !imported)
        return fault_set(fault, ENOENT, "there is no recipe for the image %s", recipe);
    int r = making_run(&making, lock, progress, fault);
    if (r < 0)
        return r;
    done_tell(progress, &making.image, true);
    return 0;
}

/* Whether the file or directory is as it was when the image was made of it. One that is gone cannot have changed. */
static bool is_as_it_was(const char *path, const struct image *present)
{
    uint64_t newest = source_change(path);
    if (access(path, F_OK) < 0)
        return true;
    if (present->source_changed > 0 || newest == 0)
        return newest == present->source_changed;
    OWNED_MEMORY char *changed = staging_time_of((time_t)newest); /* of an older version */
    return changed != NULL && strcmp(changed, present->created) <= 0;
}

static bool is_lock_of(const struct build *build, const struct image *present)
{
    OWNED(buffer_release) struct buffer wanted = BUFFER(LOCK_MAX);
    OWNED(buffer_release) struct buffer known = BUFFER(LOCK_MAX);
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/" LOCK_FILE, present->directory) < 0) {
        path = NULL;
        return false;
    }
    return file_read(build->lock_path, &wanted, NULL) == 0 && file_read(path, &known, NULL) == 0 &&
           wanted.length == known.length && memcmp(wanted.data, known.data, known.length) == 0;
}

/* Whether the image that is there is what the source would make, as far as its record tells. */
static bool is_same_source(const struct build *build, const struct image *present)
{
    const char *source = present->source != NULL ? present->source : "";
    bool is_of_packages = strncmp(source, DEBIAN_SOURCE, strlen(DEBIAN_SOURCE)) == 0;
    OWNED_MEMORY char *wanted = build->from != NULL ? source_name(build->from) : NULL;
    if (build->lock_path != NULL)
        return is_lock_of(build, present);
    if (build->from != NULL)
        return wanted != NULL && strcmp(source, wanted) == 0 && is_as_it_was(build->from, present);
    const struct recipe *recipe = recipe_find(build->name);
    return build->source == SOURCE_ANY || (recipe != NULL && recipe->packages == NULL) ||
           is_of_packages == (build->source == SOURCE_DEBIAN);
}

static int keep_present(const struct build *build, const struct image *present,
                        struct progress *progress, struct fault *fault)
{
    if (!is_same_source(build, present))
        return fault_set(
            fault, EEXIST,
            "the image exists already, made %s from %s, and not from this source as it is "
            "now: --force replaces it, another name keeps both",
            present->created, present->source);
    done_tell(progress, present, false);
    return 0;
}

static int build_with(const struct build *build, struct progress *progress, struct fault *fault)
{
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    int r = staging_lock(build->store, build->name, &lock, progress, fault);
    if (r < 0)
        return r;
    OWNED(image_release) struct image present = {0};
    if (!build->force && image_open(build->store, build->name, &present, NULL) == 0)
        return keep_present(build, &present, progress, fault);
    r = image_make(build, &lock, progress, fault);
    staging_clear_layers(build->store, progress);
    return r;
}

int build_image(const struct build *build, struct fault *fault)
{
    struct progress progress;
    progress_open(&progress, build->name, build->json);
    int r = build_with(build, &progress, fault);
    progress_close(&progress);
    if (r < 0)
        progress_failed(&progress, fault);
    return r;
}
