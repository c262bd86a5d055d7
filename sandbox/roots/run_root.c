#include "sandbox/roots/run_root.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/text_file.h"
#include "sandbox/base/tree.h"
#include "sandbox/roots/chroot_tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_FILE "image"
#define IMAGE_TEXT_MAX (2 * PATH_MAX)
#define UNFINISHED "new-"
#define NAME_MAX_OWN 32

/*
 * Which files a root has, for which base, and whose they are: "BASE UID GID DEVICE INODE PATH\nMOUNT OPTIONS". False: it
 * does not fit.
 */
static bool describe_image(const struct jail_plan *plan, char text[IMAGE_TEXT_MAX])
{
    int length =
        snprintf(text, IMAGE_TEXT_MAX, "%d %u %u %" PRIx64 " %" PRIx64 " %s\n%s", (int)plan->base,
                 geteuid(), getegid(), plan->root_device, plan->root_inode, plan->root_path,
                 plan->root_layers != NULL ? plan->root_layers : "");
    return length > 0 && length < IMAGE_TEXT_MAX;
}

/* FNV-1a: a name for the text, which is compared besides. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Whether the image that a text describes is still there. */
static bool has_image(const char *text)
{
    uint64_t device;
    uint64_t inode;
    int at = 0;
    char path[PATH_MAX];
    struct stat status;
    if (sscanf(text, "%*d %*u %*u %" SCNx64 " %" SCNx64 " %n", &device, &inode, &at) != 2)
        return false;
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(text + at, "\n"), text + at);
    if (stat(path, &status) < 0 || status.st_dev != device || status.st_ino != inode)
        return false;
    const char *layers = strstr(text, "lowerdir=");
    if (layers == NULL)
        return true;
    /* The topmost layer is the newest: it is gone if the image was replaced. */
    char layer[2 * PATH_MAX];
    layers += strlen("lowerdir=");
    snprintf(layer, sizeof(layer), "%s/%.*s", path, (int)strcspn(layers, ":"), layers);
    return stat(layer, &status) == 0;
}

/* Removes roots that nobody uses: all, or only those that were never finished. */
static void sweep_image(int image_fd, bool all)
{
    OWNED(directory_release) DIR *roots = directory_open(image_fd, ".");
    for (struct dirent *entry; (entry = directory_next(roots)) != NULL;) {
        bool is_unfinished = strncmp(entry->d_name, UNFINISHED, strlen(UNFINISHED)) == 0;
        if (!(all || is_unfinished) || strcmp(entry->d_name, IMAGE_FILE) == 0)
            continue;
        OWNED_FD int fd = directory_open_locked(image_fd, entry->d_name);
        if (fd >= 0)
            tree_remove(image_fd, entry->d_name);
    }
}

static void sweep(int store_fd)
{
    OWNED(directory_release) DIR *images = directory_open(store_fd, ".");
    for (struct dirent *entry; (entry = directory_next(images)) != NULL;) {
        char text[IMAGE_TEXT_MAX];
        OWNED_FD int image_fd =
            openat(store_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (image_fd < 0)
            continue;
        bool is_there =
            text_file_read(image_fd, IMAGE_FILE, text, sizeof(text)) == 0 && has_image(text);
        sweep_image(image_fd, !is_there);
        /* Fails as long as one is in use. */
        if (!is_there && unlinkat(image_fd, IMAGE_FILE, 0) == 0 &&
            unlinkat(store_fd, entry->d_name, AT_REMOVEDIR) < 0)
            continue;
    }
}

/* With those above it: a new user has none of them. */
static int make_store(const char *path)
{
    char above[PATH_MAX];
    int length = snprintf(above, sizeof(above), "%s", path);
    if (length < 0 || length >= PATH_MAX)
        return -ENAMETOOLONG;
    for (char *slash = strchr(above + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(above, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return -errno;
        *slash = '/';
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int run_root_store_open(struct run_root_store *store, const char *path, struct fault *fault)
{
    int r = make_store(path);
    if (r < 0)
        return fault_set(fault, -r, "cannot make the directory %s for the roots of sandboxes: %m",
                         path);
    OWNED_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno,
                         "cannot open the directory %s for the roots of sandboxes: %m", path);
    sweep(fd);
    store->path = strdup(path);
    if (store->path == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the roots of sandboxes");
    store->fd = fd_take(&fd);
    return 0;
}

void run_root_store_close(struct run_root_store *store)
{
    fd_close(&store->fd);
    memory_release(&store->path);
}

/* The directory of an image's roots, with its text. */
static int open_image(const struct run_root_store *store, const char *name, const char *text)
{
    if (mkdirat(store->fd, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    OWNED_FD int fd = openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char present[IMAGE_TEXT_MAX];
    int r = text_file_read(fd, IMAGE_FILE, present, sizeof(present));
    if (r == 0 && strcmp(present, text) == 0)
        return fd_take(&fd);
    if (r == 0 && strncmp(present, text, strlen(present)) != 0)
        return -EEXIST; /* another image; what is not whole is written again */
    OWNED_FD int file = openat(fd, IMAGE_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
        return -errno;
    return fd_take(&fd);
}

/* A failure to make a root is none of those by which a search goes on. */
static int fail(int error, struct fault *fault)
{
    fault_set(fault, error, "cannot make the root directory of a sandbox: %m");
    return -EIO;
}

/* Makes a root aside, locked, and gives it the name. -EEXIST: another server has made that one meanwhile. */
static int make_root(int image_fd, const char *name, const struct jail_plan *plan,
                     struct fault *fault)
{
    uint64_t number;
    char unfinished[NAME_MAX_OWN];
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return fail(EIO, fault);
    snprintf(unfinished, sizeof(unfinished), UNFINISHED "%016" PRIx64, number);
    OWNED_FD int fd = mkdirat(image_fd, unfinished, 0700) < 0
                          ? -errno
                          : directory_open_locked(image_fd, unfinished);
    if (fd < 0)
        return fail(-fd, fault);
    int r = chroot_tree_fill(fd, plan, fault);
    /* On BASE_CHROOT, the user of the jail must be able to search it. */
    if (r == 0 && plan->base == BASE_CHROOT && fchmod(fd, 0755) < 0)
        r = -errno;
    bool is_filled = r == 0;
    if (r == 0 && directory_move(image_fd, unfinished, image_fd, name) < 0)
        r = -errno;
    if (r == 0)
        return fd_take(&fd);
    tree_remove(image_fd, unfinished);
    return is_filled && r == -EEXIST ? r : fail(-r, fault);
}

/* A locked root of the image; *ret_name is its name. */
static int find_root(int image_fd, const struct jail_plan *plan, char name[NAME_MAX_OWN],
                     struct fault *fault)
{
    for (unsigned i = 0; i < RUN_ROOTS_MAX; i++) {
        snprintf(name, NAME_MAX_OWN, "%u", i);
        int fd = directory_open_locked(image_fd, name);
        if (fd == -ENOENT)
            fd = make_root(image_fd, name, plan, fault);
        if (fd >= 0 || (fd != -EWOULDBLOCK && fd != -EEXIST && fd != -ENOENT))
            return fd;
    }
    return fault_set(fault, EAGAIN, "%d sandboxes of this image are running already",
                     RUN_ROOTS_MAX);
}

static int open_root(struct run_root *root, const struct run_root_store *store,
                     const struct jail_plan *plan, struct fault *fault)
{
    char text[IMAGE_TEXT_MAX];
    char image[NAME_MAX_OWN];
    char name[NAME_MAX_OWN];
    if (!describe_image(plan, text))
        return fault_set(fault, ENAMETOOLONG, "the path of the image is too long: %s",
                         plan->root_path);
    snprintf(image, sizeof(image), "%016" PRIx64, hash_of(text));
    OWNED_FD int image_fd = open_image(store, image, text);
    if (image_fd < 0)
        return fault_set(fault, -image_fd, "cannot make a directory in %s: %m", store->path);
    root->fd = find_root(image_fd, plan, name, fault);
    struct stat status;
    if (root->fd < 0)
        return fault_set(fault, -root->fd, "cannot open the root directory of a sandbox: %m");
    if (fstat(root->fd, &status) < 0 ||
        asprintf(&root->path, "%s/%s/%s", store->path, image, name) < 0) {
        root->path = NULL;
        return fault_set(fault, ENOMEM, "out of memory for the root directory of a sandbox");
    }
    root->device = status.st_dev;
    root->inode = status.st_ino;
    return 0;
}

static int open_directories(struct run_root *root, const struct jail_plan *plan,
                            struct fault *fault)
{
    for (size_t i = 0; i < plan->scratch_count && i < RUN_ROOT_DIRECTORIES_MAX; i++) {
        int fd = chroot_tree_open(root->fd, plan->scratch[i].target);
        if (fd < 0)
            return fault_set(fault, -fd, "cannot open %s of a sandbox: %m",
                             plan->scratch[i].target);
        root->directory_fds[i] = fd;
    }
    return 0;
}

static int complete_plan(struct jail_plan *plan, struct run_root *root, struct fault *fault)
{
    if (plan->base == BASE_HOST) {
        int r = relocation_place(&root->relocation, root->path, plan, fault);
        return r == 0 ? relocation_start(&root->relocation, root->path, plan, fault) : r;
    }
    int r = spare_ids_take(&root->ids, fault);
    plan->root_path = root->path;
    plan->root_device = root->device;
    plan->root_inode = root->inode;
    plan->root_layers = NULL;
    plan->own_uid = root->ids.uid;
    plan->own_gid = root->ids.uid;
    plan->init_uid = root->ids.init_uid;
    plan->guard_uid = root->ids.guard_uid;
    return r;
}

int run_root_take(struct run_root_store *store, struct jail_plan *plan, struct run_root **ret_root,
                  struct fault *fault)
{
    struct run_root *root = calloc(1, sizeof(*root));
    if (root == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the root directory of a sandbox");
    *root = (struct run_root){.fd = -1, .ids = SPARE_IDS_NONE, .directory_fds = {-1, -1, -1, -1}};
    int r = open_root(root, store, plan, fault);
    if (r == 0)
        r = complete_plan(plan, root, fault);
    if (r == 0)
        r = chroot_tree_renew(root->fd, plan, fault);
    if (r == 0)
        r = open_directories(root, plan, fault);
    if (r < 0)
        run_root_give_back(root);
    else
        *ret_root = root;
    return r;
}

static void empty(int directory_fd)
{
    OWNED(directory_release)
    DIR *directory = directory_fd < 0 ? NULL : directory_open(directory_fd, ".");
    int fd = directory != NULL ? dirfd(directory) : -1;
    for (struct dirent *entry; fd >= 0 && (entry = directory_next(directory)) != NULL;)
        tree_remove(fd, entry->d_name);
}

void run_root_give_back(struct run_root *root)
{
    if (root == NULL)
        return;
    for (size_t i = 0; i < RUN_ROOT_DIRECTORIES_MAX; i++) {
        empty(root->directory_fds[i]);
        fd_close(&root->directory_fds[i]);
    }
    relocation_release(&root->relocation);
    fd_close(&root->fd);
    spare_ids_release(&root->ids);
    free(root->path);
    free(root);
}
