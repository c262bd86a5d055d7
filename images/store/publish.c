#include "images/store/publish.h"

#include "images/store/layer_sweep.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define BUILDING "building"
#define REMOVING "removing"
#define RANDOM_LENGTH 6
#define LOCK_FILE_MAX (IMAGE_NAME_MAX + 16)

/* Makes a directory and those above it, as mkdir -p does. 0 or a negative errno. */
static int directory_make(const char *path)
{
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return -errno;
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return -ENOENT;
    OWNED_MEMORY char *parent = strndup(path, (size_t)(slash - path));
    if (parent == NULL)
        return -ENOMEM;
    int r = directory_make(parent);
    if (r < 0)
        return r;
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

/* Opens STORE/images, making it if it is absent. */
static int images_open(const char *store, int *ret_fd, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/images", store) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "no memory for the path of the image store");
    }
    int r = directory_make(path);
    if (r < 0)
        return fault_set(fault, -r,
                         "cannot make the image store %s: %m; set XDG_DATA_HOME to a directory "
                         "that may be written",
                         path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot open the image store %s: %m", path);
    *ret_fd = fd;
    return 0;
}

static void lock_file_name(const char *name, char file[LOCK_FILE_MAX])
{
    snprintf(file, LOCK_FILE_MAX, ".%s.lock", name);
}

/* Whether the name still refers to the open file. */
static bool file_is_current(int directory_fd, const char *name, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(directory_fd, name, &named, 0) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* The process id that the holder wrote into its lock file; 0 if it has not yet. */
static pid_t lock_holder(int fd)
{
    char text[16];
    return text_file_read_open(fd, text, sizeof(text)) == 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/*
 * The holder removes the file before it unlocks, so a lock on a removed file does not count: start
 * over. 0 and the descriptor; 1 held; negative errno.
 */
static int lock_take(int images_fd, const char *file, int *ret_fd, pid_t *ret_holder)
{
    for (;;) {
        OWNED_FD int fd = openat(images_fd, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
            return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            if (errno != EWOULDBLOCK)
                return -errno;
            *ret_holder = lock_holder(fd);
            return 1;
        }
        if (!file_is_current(images_fd, file, fd))
            continue;
        if (ftruncate(fd, 0) < 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0)
            return -errno;
        *ret_fd = fd_take(&fd);
        return 0;
    }
}

int publish_lock(const char *store, const char *name, struct publish_lock *ret_lock,
                 pid_t *ret_holder, struct fault *fault)
{
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    int r = images_open(store, &lock.images_fd, fault);
    if (r < 0)
        return r;
    char file[LOCK_FILE_MAX];
    lock_file_name(name, file);
    r = lock_take(lock.images_fd, file, &lock.fd, ret_holder);
    if (r < 0)
        return fault_set(fault, -r, "cannot lock %s/images/%s: %m", store, file);
    if (r > 0)
        return r;
    snprintf(lock.name, sizeof(lock.name), "%s", name);
    *ret_lock = lock;
    lock = PUBLISH_LOCK_NONE;
    return 0;
}

void publish_unlock(struct publish_lock *lock)
{
    if (lock->fd >= 0) {
        char file[LOCK_FILE_MAX];
        lock_file_name(lock->name, file);
        unlinkat(lock->images_fd, file, 0);
    }
    fd_close(&lock->fd);
    fd_close(&lock->images_fd);
}

static bool text_begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether the entry is ".building-NAME.XXXXXX" or ".removing-NAME.XXXXXX" of exactly this image. */
static bool entry_is_aside(const char *entry, const char *name)
{
    if (!text_begins(entry, "." BUILDING "-") && !text_begins(entry, "." REMOVING "-"))
        return false;
    const char *rest = strchr(entry, '-') + 1;
    size_t length = strlen(name);
    return strncmp(rest, name, length) == 0 && rest[length] == '.' &&
           strlen(rest + length + 1) == RANDOM_LENGTH && strchr(rest + length + 1, '.') == NULL;
}

/* The next staging directory of this image; NULL at the end. */
static const char *aside_next(DIR *directory, const char *name)
{
    struct dirent *entry;
    do
        entry = directory_next(directory);
    while (entry != NULL && !entry_is_aside(entry->d_name, name));
    return entry != NULL ? entry->d_name : NULL;
}

/* Whether the image has staging directories; does not create the store. */
static bool aside_exists(const char *store, const char *name)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/images", store) < 0)
        path = NULL;
    OWNED(directory_release) DIR *directory = path != NULL ? directory_open(AT_FDCWD, path) : NULL;
    return directory != NULL && aside_next(directory, name) != NULL;
}

int publish_sweep(const struct publish_lock *lock, struct fault *fault)
{
    OWNED(directory_release) DIR *directory = directory_open(lock->images_fd, ".");
    if (directory == NULL)
        return fault_set(fault, errno, "cannot read the image store: %m");
    const char *entry;
    while ((entry = aside_next(directory, lock->name)) != NULL) {
        int r = tree_remove(lock->images_fd, entry);
        if (r < 0)
            return fault_set(fault, -r,
                             "cannot remove images/%s, left in the image store by a fetch that was "
                             "killed or by another user: %m; remove it by hand",
                             entry);
    }
    return 0;
}

/* An unused name for a staging directory: ".KIND-NAME." and six random letters. */
static void aside_name(const char *kind, const char *image, char name[STORE_STAGING_MAX])
{
    static const char letters[32] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char bytes[RANDOM_LENGTH] = {0};
    /*
     * Up to 256 bytes are returned in full or not at all, random(7); if not, mkdir detects a clash.
     */
    (void)!getrandom(bytes, sizeof(bytes), 0);
    char ending[RANDOM_LENGTH + 1] = "";
    for (size_t i = 0; i < RANDOM_LENGTH; i++)
        ending[i] = letters[bytes[i] % sizeof(letters)];
    snprintf(name, STORE_STAGING_MAX, ".%s-%s.%s", kind, image, ending);
}

int publish_begin(const struct publish_lock *lock, char name[STORE_STAGING_MAX],
                  struct fault *fault)
{
    aside_name(BUILDING, lock->name, name);
    /* Nobody else's: installers leave set-user-ID programs of ours in it until they are done. */
    if (mkdirat(lock->images_fd, name, 0700) < 0)
        return fault_set(fault, errno, "cannot make %s in the image store: %m", name);
    return 0;
}

int publish_keep_tree(const struct publish_lock *lock, const char *aside, const char *tree,
                      const struct layer *layer, struct fault *fault)
{
    char from[STORE_STAGING_MAX + 32];
    snprintf(from, sizeof(from), "%s/%s", aside, tree);
    if (renameat(lock->images_fd, from, layer->fd, LAYER_TREE) < 0)
        return fault_set(fault, errno, "cannot put a layer into its place: %m");
    return 0;
}

/*
 * Renames the image out of the way, then removes it. 0, or a negative errno of the renaming only.
 */
static int image_take_away(const struct publish_lock *lock)
{
    char aside[STORE_STAGING_MAX];
    aside_name(REMOVING, lock->name, aside);
    if (directory_move(lock->images_fd, lock->name, lock->images_fd, aside) < 0)
        return -errno;
    return tree_remove(lock->images_fd, aside);
}

int publish_image(const struct publish_lock *lock, const char *aside, struct fault *fault)
{
    if (fchmodat(lock->images_fd, aside, 0755, 0) < 0)
        return fault_set(fault, errno, "cannot open the image %s to others: %m", lock->name);
    if (directory_exchange(lock->images_fd, aside, lock->name) == 0) {
        /*
         * The new image is in place; a sweep reports files of the old one that cannot be removed.
         */
        (void)tree_remove(lock->images_fd, aside);
        return 0;
    }
    /*
     * ENOENT: there is no older image. Otherwise the file system cannot exchange: move the older
     * image away.
     */
    int r = errno == ENOENT ? 0 : image_take_away(lock);
    if (r < 0 && r != -ENOENT)
        return fault_set(fault, -r, "cannot move the former image %s away: %m", lock->name);
    if (renameat(lock->images_fd, aside, lock->images_fd, lock->name) < 0)
        return fault_set(fault, errno, "cannot put the image %s in its place: %m", lock->name);
    return 0;
}

int image_remove(const char *store, const char *name, struct fault *fault)
{
    int r = image_name_check(name, fault);
    if (r < 0)
        return r;
    /* A damaged image can be removed too, so only its absence matters here. */
    OWNED(image_release) struct image image = {0};
    bool absent = image_open(store, name, &image, NULL) == -ENOENT;
    /* A killed fetch also leaves files that take space, and may never be repeated. */
    if (absent && !aside_exists(store, name))
        return fault_set(fault, ENOENT, "there is no image %s to remove", name);
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    pid_t holder = 0;
    r = publish_lock(store, name, &lock, &holder, fault);
    if (r > 0)
        return fault_set(fault, EBUSY,
                         "the image %s is being fetched or removed by process %ld; wait for it",
                         name, (long)holder);
    if (r == 0)
        r = publish_sweep(&lock, fault);
    if (r < 0)
        return r;
    r = image_take_away(&lock);
    if (r < 0 && !(r == -ENOENT && absent))
        return fault_set(fault, -r, "cannot remove the image %s in %s: %m", name, store);
    struct sweep sweep = {0};
    /* If any record is unreadable, unreferenced layers cannot be determined: keep all. */
    return layer_sweep(store, &sweep, NULL) < 0 || sweep.held > 0 ? 1 : 0;
}

/* Removes the staging directories of killed commands, unless a command works on the image. */
static int prune_aside(const char *store, const char *entry, struct fault *fault)
{
    const char *start = strchr(entry, '-');
    const char *end = strrchr(entry, '.');
    if (start == NULL || end == NULL || end <= start)
        return 0;
    OWNED_MEMORY char *name = strndup(start + 1, (size_t)(end - start - 1));
    if (name == NULL)
        return fault_set(fault, ENOMEM, "no memory for the name of an image");
    if (image_name_check(name, NULL) < 0 || !entry_is_aside(entry, name))
        return 0;
    OWNED(publish_unlock) struct publish_lock lock = PUBLISH_LOCK_NONE;
    pid_t holder = 0;
    int r = publish_lock(store, name, &lock, &holder, fault);
    if (r != 0)
        return r < 0 ? r : 0;
    return publish_sweep(&lock, fault);
}

int image_prune(const char *store, struct pruned *ret_pruned, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    if (asprintf(&path, "%s/images", store) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "no memory for the path of the image store");
    }
    int r = 0;
    OWNED(directory_release) DIR *directory = directory_open(AT_FDCWD, path);
    struct dirent *entry;
    while (r == 0 && (entry = directory_next(directory)) != NULL)
        r = prune_aside(store, entry->d_name, fault);
    struct sweep sweep = {0};
    if (r == 0)
        r = layer_sweep(store, &sweep, fault);
    *ret_pruned = (struct pruned){sweep.removed, sweep.bytes, sweep.held};
    return r;
}
