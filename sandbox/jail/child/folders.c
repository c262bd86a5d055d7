/*
 * Folders of the host. Each is seen through an overlayfs of its own: a bind mount, even a read-only
 * one, would let a snippet connect to the folder's sockets and write to its FIFOs. Only writes that
 * are to reach the folder need a bind mount, in which sockets and FIFOs are covered one by one.
 *
 * Source: the kernel's filesystems/overlayfs.rst.
 */
#include "sandbox/jail/child/mounts.h"
#include "sandbox/jail/child/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the scratch tmpfs, whose root the jail never sees. */
#define FOLDERS_NAME "folders"
#define EMPTY_NAME "empty"
#define PLACES_NAME "places"
#define COVER_NAME "cover"
#define NUMBER_DIGITS_MAX 11
#define LINK_SIZE (sizeof("self/fd/") + NUMBER_DIGITS_MAX)
#define FOLDER_ATTRIBUTES WALL(folders_without_devices, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define READ_ONLY_ATTRIBUTE WALL(folders_read_only, MOUNT_ATTR_RDONLY)

/* Directories of an overlay: descriptors of attached mounts; -1: none. */
struct overlay {
    int top, bottom; /* lower layers; top may be -1 if there is an upper layer */
    int upper, work;
    bool is_volatile; /* nothing is ever synchronized to disk, not even at the end */
};

static size_t append(char *text, size_t length, const char *more)
{
    size_t added = strlen(more);
    memcpy(text + length, more, added + 1);
    return length + added;
}

static size_t append_number(char *text, size_t length, unsigned number)
{
    char digits[NUMBER_DIGITS_MAX + 1];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return append(text, length, digits + at);
}

/* Relative to a proc: options of overlayfs name directories, and no name of the host needs escaping. */
static size_t append_link(char *text, size_t length, int fd)
{
    return append_number(text, append(text, length, "self/fd/"), (unsigned)fd);
}

static int set_layers(int context, const struct overlay *overlay)
{
    char text[2 * LINK_SIZE];
    size_t length = 0;
    if (overlay->top >= 0)
        length = append(text, append_link(text, length, overlay->top), ":");
    append_link(text, length, overlay->bottom);
    int r = filesystem_set(context, "lowerdir", text);
    if (r < 0 || overlay->upper < 0)
        return r;
    append_link(text, 0, overlay->upper);
    r = filesystem_set(context, "upperdir", text);
    append_link(text, 0, overlay->work);
    return r < 0 ? r : filesystem_set(context, "workdir", text);
}

/*
 * A detached overlay. userxattr: a user namespace has no rights to other attributes; it also keeps
 * the kernel from following redirections in attributes of a layer.
 */
static int overlay_make(const struct jail *jail, const struct overlay *overlay)
{
    if (fchdir(jail->settings_fd) < 0)
        return -errno;
    int context = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int r = set_layers(context, overlay);
    if (r == 0 && syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
        r = -errno;
    if (r == 0 && overlay->is_volatile &&
        syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "volatile", NULL, 0) < 0)
        r = -errno;
    if (r == 0)
        r = filesystem_mount(context,
                             FOLDER_ATTRIBUTES | (overlay->upper < 0 ? READ_ONLY_ATTRIBUTE : 0));
    close(context);
    return r;
}

/* Every part of the path must be a directory, none a link. */
static int open_plain(int directory_fd, const char *path, uint64_t resolve)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS | resolve};
    int fd;
    do {
        fd = (int)syscall(SYS_openat2, directory_fd, path, &how, sizeof(how));
    } while (fd < 0 && errno == EAGAIN);
    return fd < 0 ? -errno : fd;
}

/*
 * By its path, because an overlay takes layers only from mounts of this namespace, and the server's
 * descriptor belongs to another. The directory must be the same as when the server opened it.
 */
static int open_layer(const char *path, uint64_t device, uint64_t inode)
{
    int fd = open_plain(AT_FDCWD, path, 0);
    if (fd < 0)
        return fd;
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    return status.st_dev == device && status.st_ino == inode ? fd : -ESTALE;
}

int step_open_folders(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    for (size_t i = 0; i < plan->folder_count; i++) {
        jail_note(jail, STEP_OPEN_FOLDER, (int)i);
        if (i >= JAIL_FOLDERS_MAX)
            return -E2BIG;
        const struct plan_folder *folder = &plan->folders[i];
        jail->folder_fds[i] = open_layer(folder->path, folder->device, folder->inode);
        if (jail->folder_fds[i] < 0)
            return jail->folder_fds[i];
    }
    jail->uppers_fd = -1;
    if (plan->uppers_path == NULL)
        return 0;
    jail_note(jail, STEP_OPEN_UPPERS, -1);
    jail->uppers_fd = open_layer(plan->uppers_path, plan->uppers_device, plan->uppers_inode);
    return jail->uppers_fd < 0 ? jail->uppers_fd : 0;
}

/* Makes a directory, unless it is there, and opens it. */
static int make_directory(int directory_fd, const char *name)
{
    if (mkdirat(directory_fd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    return open_plain(directory_fd, name, RESOLVE_BENEATH);
}

static int make_read_only(const struct jail *jail, int directory_fd, int folder_fd)
{
    int empty = make_directory(directory_fd, EMPTY_NAME);
    if (empty < 0)
        return empty;
    int fd = overlay_make(jail, &(struct overlay){empty, folder_fd, -1, -1, false});
    close(empty);
    return fd;
}

static int make_overlay(struct jail *jail, int directory_fd, int folder_fd)
{
    bool is_on_disk = jail->uppers_fd >= 0;
    if (is_on_disk)
        directory_fd = jail->uppers_fd;
    char name[NUMBER_DIGITS_MAX + sizeof("work")];
    append_number(name, append(name, 0, "work"), (unsigned)jail->upper_count);
    int work = make_directory(directory_fd, name);
    if (work < 0)
        return work;
    append_number(name, append(name, 0, "up"), (unsigned)jail->upper_count);
    if (mkdirat(directory_fd, name, 0755) < 0)
        return -errno;
    int upper = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (upper < 0)
        return -errno;
    int fd = overlay_make(jail, &(struct overlay){-1, folder_fd, upper, work, is_on_disk});
    close(work);
    jail->upper_fds[jail->upper_count++] = upper;
    return fd;
}

/* EINVAL: something else is mounted below, and the kernel does not show what it covers. */
static int make_bind(struct jail *jail, int folder_fd)
{
    if (jail->cover_fd < 0) {
        if (mknodat(jail->scratch_fd, COVER_NAME, S_IFREG, 0) < 0)
            return -errno;
        jail->cover_fd = openat(jail->scratch_fd, COVER_NAME, O_PATH | O_CLOEXEC);
        if (jail->cover_fd < 0)
            return -errno;
    }
    int fd = mount_copy(folder_fd, "", AT_EMPTY_PATH);
    if (fd < 0)
        return fd;
    int r = mount_restrict(fd, FOLDER_ATTRIBUTES, 0);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

static int make_mount(struct jail *jail, int directory_fd, enum folder_mode mode, int folder_fd)
{
    switch (mode) {
    case FOLDER_OVERLAY:
        return make_overlay(jail, directory_fd, folder_fd);
    case FOLDER_WRITABLE:
        return make_bind(jail, folder_fd);
    case FOLDER_READ_ONLY:
    case FOLDER_MODE_COUNT:
        break;
    }
    return make_read_only(jail, directory_fd, folder_fd);
}

static int make_folder(struct jail *jail, int directory_fd, size_t i)
{
    int folder_fd = jail->folder_fds[i];
    jail_note(jail, STEP_MAKE_FOLDER, (int)i);
    int fd = make_mount(jail, directory_fd, jail->plan->folders[i].mode, folder_fd);
    close(folder_fd);
    jail->folder_fds[i] = fd;
    return fd < 0 ? fd : 0;
}

/* Of a template: for the jails of its forks, which make the rest. With what is mounted below, which they cannot see. */
static int copy_folders(struct jail *jail)
{
    for (size_t i = 0; i < jail->plan->folder_count; i++) {
        jail_note(jail, STEP_MAKE_FOLDER, (int)i);
        int fd = mount_copy(jail->folder_fds[i], "", AT_EMPTY_PATH | AT_RECURSIVE);
        if (fd < 0)
            return fd;
        close(jail->folder_fds[i]);
        jail->folder_fds[i] = fd;
    }
    return 0;
}

/* The scratch tmpfs is attached, so an overlay may have layers in it. */
int step_make_folders(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    if (plan->folder_count == 0)
        return 0;
    if (plan->is_template)
        return copy_folders(jail);
    jail->cover_fd = -1;
    /* Only then does it matter, and may be entered: of a server of root it can be any directory. */
    bool is_relative = plan->root_layers != NULL || plan->is_fork;
    int before = is_relative ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (is_relative && before < 0)
        return -errno;
    int directory = make_directory(jail->scratch_fd, FOLDERS_NAME);
    int r = directory < 0 ? directory : 0;
    for (size_t i = 0; r == 0 && i < plan->folder_count; i++)
        r = make_folder(jail, directory, i);
    if (r == 0 && is_relative && fchdir(before) < 0)
        r = -errno;
    if (before >= 0)
        close(before);
    close(directory);
    if (jail->uppers_fd >= 0)
        close(jail->uppers_fd);
    return r;
}

/* Makes the directories of a path below one; existing ones are fine. */
static int make_path(int directory_fd, const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(part))
        return -ENAMETOOLONG;
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdirat(directory_fd, part, 0755) < 0 && errno != EEXIST)
            return -errno;
        part[i] = path[i];
    }
    return 0;
}

/*
 * Whether the image lacks the place: 1 or 0, or a negative errno. A link on the way is an error, so
 * that the folder appears where the operator expects it.
 */
static int is_missing(const struct jail *jail, const struct plan_folder *folder)
{
    int fd = open_plain(jail->root_fd, folder->place, RESOLVE_IN_ROOT);
    if (fd == -ENOENT)
        return 1;
    if (fd < 0)
        return fd;
    close(fd);
    return folder->may_cover ? 0 : -EEXIST;
}

/* Opens the deepest directory above the path that the image has, and cuts the path to it. */
static int open_ancestor(const struct jail *jail, char *path)
{
    int fd = -ENOENT;
    for (size_t length = strlen(path); fd == -ENOENT && length > 0;) {
        while (path[--length] != '/')
            ;
        path[length] = '\0';
        fd = open_plain(jail->root_fd, length > 0 ? path : "/", RESOLVE_IN_ROOT);
    }
    return fd;
}

/* Adds the directories below `places_fd` to those of the image, where the image is to have this path. */
static int add_directories(struct jail *jail, int places_fd, const char *path)
{
    char ancestor[PATH_MAX];
    memcpy(ancestor, path, strlen(path) + 1);
    int image = open_ancestor(jail, ancestor);
    if (image < 0)
        return image;
    bool is_root = ancestor[0] == '\0';
    int added = open_plain(places_fd, is_root ? "." : ancestor + 1, RESOLVE_BENEATH);
    if (added < 0)
        return added;
    int fd = overlay_make(jail, &(struct overlay){added, image, -1, -1, false});
    close(added);
    close(image);
    if (fd < 0)
        return fd;
    int r =
        is_root ? mount_attach(fd, AT_FDCWD, ROOT_PLACE) : mount_attach_inside(jail, fd, ancestor);
    if (r == 0 && is_root) {
        close(jail->root_fd);
        jail->root_fd = fd;
        return 0;
    }
    close(fd);
    return r;
}

/* Makes the missing places below a directory of the scratch tmpfs. Its descriptor, or -1: none. */
static int collect_missing(struct jail *jail, bool *ret_missing, int *ret_places)
{
    const struct jail_plan *plan = jail->plan;
    for (size_t i = 0; i < plan->folder_count; i++) {
        const struct plan_folder *folder = &plan->folders[i];
        jail_note(jail, STEP_MAKE_PLACE, (int)i);
        int r = folder->is_in_scratch ? 0 : is_missing(jail, folder);
        if (r < 0)
            return r;
        ret_missing[i] = r == 1;
        if (!ret_missing[i])
            continue;
        if (*ret_places < 0)
            *ret_places = make_directory(jail->scratch_fd, PLACES_NAME);
        r = *ret_places < 0 ? *ret_places : make_path(*ret_places, folder->place + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

/*
 * The image is read-only, so missing mount points come from an overlay over the deepest directory it
 * has on the way: /home for /home/user/project. An overlay over the whole root would slow down every
 * program. A template makes them for all its forks.
 */
int step_make_places(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    bool missing[JAIL_FOLDERS_MAX] = {false};
    int places = -1;
    if (plan->is_fork)
        return 0;
    int r = collect_missing(jail, missing, &places);
    for (size_t i = 0; r == 0 && i < plan->folder_count; i++) {
        if (!missing[i])
            continue;
        jail_note(jail, STEP_MAKE_PLACE, (int)i);
        int fd = open_plain(jail->root_fd, plan->folders[i].place, RESOLVE_IN_ROOT);
        if (fd == -ENOENT)
            r = add_directories(jail, places, plan->folders[i].place);
        else if (fd >= 0) /* it came with the place of another folder */
            close(fd);
        else
            r = fd;
    }
    if (places >= 0)
        close(places);
    return r;
}

int step_mount_folders(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = 0;
    for (size_t i = 0; r == 0 && i < plan->folder_count && !plan->is_template; i++) {
        const struct plan_folder *folder = &plan->folders[i];
        jail_note(jail, STEP_MOUNT_FOLDER, (int)i);
        if (folder->is_in_scratch)
            r = mount_make_place(jail, folder->place, true);
        if (r == 0)
            r = mount_attach_inside(jail, jail->folder_fds[i], folder->place);
    }
    return r;
}

/* Whether it is still what the server found there: another in its place would leave that one unprotected. */
static int check_part(int fd, const struct plan_folder_part *part)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    return status.st_dev == part->device && status.st_ino == part->inode ? 0 : -ESTALE;
}

/*
 * Mounts over a part of a folder: itself, read-only or not, or an empty file. A mount point can be
 * neither removed nor renamed, not even a link.
 */
static int protect(const struct jail *jail, const struct plan_folder_part *part)
{
    const struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
    int place =
        (int)syscall(SYS_openat2, jail->folder_fds[part->folder], part->path, &how, sizeof(how));
    if (place < 0)
        return -errno;
    int r = check_part(place, part);
    if (r < 0) {
        close(place);
        return r;
    }
    int fd = mount_copy(part->care == CARE_HIDE ? jail->cover_fd : place, "", AT_EMPTY_PATH);
    r = fd < 0 ? fd : 0;
    if (r == 0)
        r = mount_restrict(fd, FOLDER_ATTRIBUTES | (part->care == CARE_PIN ? 0 : MOUNT_ATTR_RDONLY),
                           0);
    if (r == 0 && syscall(SYS_move_mount, fd, "", place, "",
                          MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        r = -errno;
    if (fd >= 0)
        close(fd);
    close(place);
    return r;
}

int step_protect_folders(struct jail *jail)
{
    const struct jail_plan *plan = jail->plan;
    int r = 0;
    if (plan->is_template)
        return 0;
    for (size_t i = 0; r == 0 && i < plan->folder_part_count; i++) {
        jail_note(jail, STEP_PROTECT_FOLDER, (int)i);
        r = protect(jail, &plan->folder_parts[i]);
    }
    if (plan->folder_count > 0 && jail->cover_fd >= 0)
        close(jail->cover_fd);
    for (size_t i = 0; i < plan->folder_count; i++)
        close(jail->folder_fds[i]);
    return r;
}
