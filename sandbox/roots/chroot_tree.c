#include "sandbox/roots/chroot_tree.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"
#include "sandbox/jail/child/proc_copies.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define LOWER_OPTION "lowerdir="
#define OPAQUE_ATTRIBUTE "user.overlay.opaque"
#define RESOLVE_PLAINLY (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

/* The tree that is being filled. */
struct filling {
    bool is_root; /* it will be the root of the jail */
    unsigned depth; /* of the current directory below it */
};

static int add_directory(struct filling *filling, int from, int to, const char *name, mode_t mode);

/* A link to an absolute path, which is meant to be one in the image: "../../etc/x" for "/etc/x" two levels down. */
static int add_relative_link(const struct filling *filling, int to, const char *name,
                             const char *target)
{
    char relative[2 * PATH_MAX] = "./";
    size_t length = strlen(relative);
    for (unsigned i = 0; i < filling->depth && length + 4 < PATH_MAX; i++)
        length += (size_t)snprintf(relative + length, sizeof(relative) - length, "../");
    while (*target == '/')
        target++;
    snprintf(relative + length, sizeof(relative) - length, "%s", target);
    return symlinkat(relative, to, name) < 0 ? -errno : 0;
}

/* No image has files that a snippet may write to; one made by hand might. On BASE_HOST, Landlock sees to that. */
static int protect_file(const struct filling *filling, int directory_fd, const char *name)
{
    struct stat about;
    if (fstatat(directory_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return filling->is_root && ((about.st_mode & 0022) != 0 || about.st_uid != geteuid()) ? -EPERM
                                                                                          : 0;
}

/* Hard links are made of links, too. */
static int add_file(const struct filling *filling, int from, int to, const char *name, bool is_link)
{
    char target[PATH_MAX];
    ssize_t length =
        is_link && !filling->is_root ? readlinkat(from, name, target, sizeof(target) - 1) : 0;
    if (length < 0)
        return -errno;
    target[length] = '\0';
    if (target[0] == '/')
        return add_relative_link(filling, to, name, target);
    if (linkat(from, name, to, name, 0) < 0)
        return -errno;
    return is_link ? 0 : protect_file(filling, to, name);
}

static bool is_whiteout(const struct stat *about)
{
    return S_ISCHR(about->st_mode) && about->st_rdev == makedev(0, 0);
}

/* Puts one entry of a layer into the tree, in the place of what a lower layer has there. */
static int add_entry(struct filling *filling, int from, int to, const char *name)
{
    struct stat about;
    if (fstatat(from, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (is_whiteout(&about))
        return tree_remove(to, name);
    if (S_ISDIR(about.st_mode))
        return add_directory(filling, from, to, name, about.st_mode);
    if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode))
        return 0;
    int r = add_file(filling, from, to, name, S_ISLNK(about.st_mode));
    if (r != -EEXIST)
        return r;
    r = tree_remove(to, name);
    return r < 0 ? r : add_file(filling, from, to, name, S_ISLNK(about.st_mode));
}

static int add_entries(struct filling *filling, DIR *from, int to)
{
    int fd = dirfd(from);
    int r = fd < 0 ? -errno : 0;
    for (struct dirent *entry; r == 0 && (entry = directory_next(from)) != NULL;)
        r = add_entry(filling, fd, to, entry->d_name);
    return r;
}

/* Nobody but root may write to a directory of the image: one snippet could leave files for the next. */
static int add_directory(struct filling *filling, int from, int to, const char *name, mode_t mode)
{
    OWNED(directory_release) DIR *source = directory_open_itself(from, name);
    if (source == NULL)
        return -errno;
    char mark;
    bool is_opaque = fgetxattr(dirfd(source), OPAQUE_ATTRIBUTE, &mark, 1) == 1 && mark == 'y';
    struct stat present;
    bool is_there = fstatat(to, name, &present, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && (is_opaque || !S_ISDIR(present.st_mode))) {
        int r = tree_remove(to, name);
        if (r < 0)
            return r;
        is_there = false;
    }
    if (!is_there && mkdirat(to, name, 0700) < 0)
        return -errno;
    OWNED_FD int target =
        open_resolved(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_PLAINLY);
    if (target < 0)
        return target;
    if (fchmod(target, mode & 0755) < 0)
        return -errno;
    filling->depth++;
    int r = add_entries(filling, source, target);
    filling->depth--;
    return r;
}

static int fill_from(int root_fd, const char *path, bool is_root, struct fault *fault)
{
    struct filling filling = {.is_root = is_root};
    OWNED(directory_release) DIR *source = directory_open(AT_FDCWD, path);
    int r = source != NULL ? add_entries(&filling, source, root_fd) : -errno;
    if (r < 0)
        return fault_set(fault, -r, "cannot make hard links to the files of the image in %s: %m%s",
                         path,
                         r == -EXDEV   ? "; the store of images must be on one file system"
                         : r == -EPERM ? "; one is not root's alone: make the image again"
                                       : "");
    return 0;
}

/* The layers of the mount options, the top first. */
static int fill_from_layers(int root_fd, const struct jail_plan *plan, struct fault *fault)
{
    const char *list = strstr(plan->root_layers, LOWER_OPTION);
    OWNED_MEMORY char *names = list != NULL ? strdup(list + strlen(LOWER_OPTION)) : NULL;
    if (names == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the layers of an image");
    const char *layers[CHROOT_LAYERS_MAX];
    size_t count = 0;
    char *rest = names;
    for (char *name; (name = strsep(&rest, ":")) != NULL;) {
        if (count == CHROOT_LAYERS_MAX)
            return fault_set(fault, E2BIG, "the image has more than %d layers", CHROOT_LAYERS_MAX);
        layers[count++] = name;
    }
    int r = 0;
    while (r == 0 && count > 0) {
        OWNED_MEMORY char *path = NULL;
        if (asprintf(&path, "%s/%s", plan->root_path, layers[--count]) < 0) {
            path = NULL;
            return fault_set(fault, ENOMEM, "out of memory for the layers of an image");
        }
        r = fill_from(root_fd, path, plan->base == BASE_CHROOT, fault);
    }
    return r;
}

int chroot_tree_fill(int root_fd, const struct jail_plan *plan, struct fault *fault)
{
    return plan->root_layers != NULL
               ? fill_from_layers(root_fd, plan, fault)
               : fill_from(root_fd, plan->root_path, plan->base == BASE_CHROOT, fault);
}

/* Opens the directory above the last part of an absolute path, and makes it if it is missing. */
static int open_parent(int root_fd, const char *path, const char **ret_name)
{
    const char *name = strrchr(path, '/') + 1;
    char parent[PATH_MAX];
    size_t length = (size_t)(name - path) - 1;
    if (length >= sizeof(parent))
        return -ENAMETOOLONG;
    snprintf(parent, sizeof(parent), "%.*s", (int)length, path);
    const char *below = parent[0] == '/' ? parent + 1 : ".";
    *ret_name = name;
    if (mkdirat(root_fd, below, 0755) < 0 && errno != EEXIST)
        return -errno;
    return open_resolved(root_fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_PLAINLY);
}

/* An empty directory in the place of whatever was there. */
static int replace_directory(int root_fd, const char *path, mode_t mode, uid_t owner)
{
    const char *name;
    OWNED_FD int parent = open_parent(root_fd, path, &name);
    if (parent < 0)
        return parent;
    int r = tree_remove(parent, name);
    if (r < 0)
        return r;
    if (mkdirat(parent, name, 0700) < 0)
        return -errno;
    OWNED_FD int fd =
        open_resolved(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_PLAINLY);
    if (fd < 0)
        return fd;
    if (owner != 0 && fchown(fd, owner, owner) < 0)
        return -errno;
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int add_device(int dev_fd, const struct plan_device *device)
{
    struct stat about;
    if (stat(device->source, &about) < 0)
        return -errno;
    if (mknodat(dev_fd, device->name, S_IFCHR | 0666, about.st_rdev) < 0 && errno != EEXIST)
        return -errno;
    /* A file system mounted with nodev accepts the node, and refuses to open it. */
    OWNED_FD int fd = openat(dev_fd, device->name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fchmod(fd, 0666) < 0 ? -errno : 0;
}

static int add_devices(int root_fd, const struct jail_plan *plan, struct fault *fault)
{
    struct stat present;
    bool is_there = fstatat(root_fd, "dev/null", &present, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISCHR(present.st_mode);
    int r = is_there ? 0 : replace_directory(root_fd, "/dev", 0755, 0);
    OWNED_FD int dev_fd = r < 0 ? -1 : chroot_tree_open(root_fd, "/dev");
    if (r == 0 && dev_fd < 0)
        r = dev_fd;
    for (size_t i = 0; r == 0 && i < plan->device_count; i++)
        r = add_device(dev_fd, &plan->devices[i]);
    for (size_t i = 0; r == 0 && i < plan->dev_link_count; i++)
        if (symlinkat(plan->dev_links[i].target, dev_fd, plan->dev_links[i].path) < 0 &&
            errno != EEXIST)
            r = -errno;
    if (r < 0)
        return fault_set(
            fault, -r, "cannot make the devices of a sandbox: %m%s",
            r == -EPERM ? "; that needs the capability CAP_MKNOD, which containers have by default"
            : r == -EACCES ? "; is the store of images on a file system mounted with nodev? Set "
                             "XDG_DATA_HOME to a directory on another"
                           : "");
    return 0;
}

static int write_proc(int root_fd, const struct jail_plan *plan)
{
    int r = replace_directory(root_fd, "/proc", 0755, 0);
    OWNED_FD int proc_fd = r < 0 ? -1 : chroot_tree_open(root_fd, "/proc");
    if (r == 0 && proc_fd < 0)
        r = proc_fd;
    OWNED_FD int host_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (r == 0)
        r = host_fd < 0 ? -errno : proc_copies_write(host_fd, proc_fd, plan->proc_copies);
    /* Whatever the umask of this server is. */
    for (const char *const *name = plan->proc_copies; r == 0 && *name != NULL; name++)
        if (fchmodat(proc_fd, *name, 0444, 0) < 0 && errno != ENOENT)
            r = -errno;
    return r;
}

int chroot_tree_renew(int root_fd, const struct jail_plan *plan, struct fault *fault)
{
    int r = plan->base == BASE_CHROOT ? add_devices(root_fd, plan, fault) : 0;
    if (r < 0)
        return r;
    if (plan->base == BASE_CHROOT)
        r = write_proc(root_fd, plan);
    for (size_t i = 0; r == 0 && i < plan->scratch_count; i++)
        r = replace_directory(root_fd, plan->scratch[i].target, plan->scratch[i].mode,
                              plan->own_uid);
    if (r < 0)
        return fault_set(fault, -r, "cannot make the directories of a sandbox: %m%s",
                         r == -ELOOP || r == -ENOTDIR || r == -EXDEV
                             ? "; the image has a link in the place of one"
                             : "");
    return 0;
}

int chroot_tree_bare(int root_fd, const struct jail_plan *plan)
{
    int r = replace_directory(root_fd, "/dev", 0755, 0);
    if (r == 0)
        r = replace_directory(root_fd, "/proc", 0755, 0);
    for (size_t i = 0; r == 0 && i < plan->scratch_count; i++)
        if (strncmp(plan->scratch[i].target, "/dev/", 5) != 0)
            r = replace_directory(root_fd, plan->scratch[i].target, 0755, 0);
    return r;
}

int chroot_tree_open(int root_fd, const char *path)
{
    return open_resolved(root_fd, path + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_PLAINLY);
}
