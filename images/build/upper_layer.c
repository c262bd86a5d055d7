#include "images/build/upper_layer.h"

#include "images/unpack/member.h"
#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct cleaning {
    const struct plan_shown *files;
    size_t file_count;
};

/*
 * Removes mount points of a run, directories that every run gets anew, and caches: the layers below
 * have them.
 */
static int places_remove(struct fault *fault)
{
    static const char *const names[] = {
        "proc",
        "sys",
        "dev",
        "tmp",
        "run",
        "work",
        "var/tmp",
        "home/sandbox",
        "var/cache/apt",
        "var/log/dpkg.log",
        "var/log/alternatives.log",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        int r = tree_remove(AT_FDCWD, names[i]);
        if (r < 0 && r != -ENOTDIR)
            return fault_set(fault, -r, "cannot remove /%s from a layer: %m", names[i]);
    }
    return 0;
}

/* Removes empty files and directories, and their parents if empty. */
void upper_layer_forget_shown(const struct plan_shown *files, size_t file_count)
{
    for (size_t i = 0; i < file_count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s", files[i].image_path + 1);
        struct stat status;
        if (lstat(path, &status) < 0)
            continue;
        if (S_ISREG(status.st_mode) && status.st_size == 0)
            unlink(path);
        else if (!S_ISDIR(status.st_mode) || rmdir(path) < 0)
            continue;
        for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
            *slash = '\0';
            if (rmdir(path) < 0)
                break;
        }
    }
}

/* What was counted, and what there is to read, holes included: a layer is bounded by both. */
struct counted {
    struct tree_size size;
    uint64_t readable;
};

static int directory_clean(int parent_fd, const char *name, unsigned depth,
                           struct counted *counted);

static int count(struct counted *counted, const struct stat *status)
{
    struct tree_size *size = &counted->size;
    uint64_t bytes = (uint64_t)status->st_blocks * 512;
    size->bytes += S_ISDIR(status->st_mode) ? bytes : bytes / status->st_nlink;
    if (S_ISREG(status->st_mode))
        counted->readable += (uint64_t)status->st_size / status->st_nlink;
    return size->files++ > TREE_MEMBERS_MAX || size->bytes > TREE_BYTES_MAX ||
                   counted->readable > TREE_BYTES_MAX
               ? -EFBIG
               : 0;
}

/* Removes the entry or gives it a permitted mode. 0 or a negative errno. */
static int entry_clean(int directory_fd, const char *name, unsigned depth, struct counted *counted)
{
    struct stat status;
    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    bool whiteout = S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0);
    bool kept =
        whiteout || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode);
    if (!kept)
        return unlinkat(directory_fd, name, 0) < 0 ? -errno : 0;
    int r = count(counted, &status);
    if (r < 0 || whiteout || S_ISLNK(status.st_mode))
        return r;
    /* As in the layers below: readable by all, writable only by the owner, no set-user-ID bits. */
    mode_t least = S_ISDIR(status.st_mode) ? 0755 : 0444;
    bool is_fit = (status.st_mode & 07777 & ~0755U) == 0 && (status.st_mode & least) == least;
    mode_t mode = (status.st_mode & 0755) | least | 0200;
    if (!is_fit && fchmodat(directory_fd, name, mode, 0) < 0)
        return -errno;
    return S_ISDIR(status.st_mode) ? directory_clean(directory_fd, name, depth + 1, counted) : 0;
}

static int directory_clean(int parent_fd, const char *name, unsigned depth, struct counted *counted)
{
    if (depth > TREE_DEPTH_MAX)
        return -EFBIG;
    OWNED(directory_release) DIR *directory = directory_open_itself(parent_fd, name);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd < 0)
        return -errno;
    struct dirent *entry;
    int r = 0;
    while (r == 0 && (entry = directory_next(directory)) != NULL)
        r = entry_clean(fd, entry->d_name, depth, counted);
    return r;
}

int upper_layer_settle(struct tree_size *ret_size, struct fault *fault)
{
    struct counted counted = {0};
    struct stat top;
    /* In tier L no mode can be changed by a path; nor need it, since no program has been here. */
    bool is_fit = stat(".", &top) == 0 && (top.st_mode & 07777) == 0755;
    int r = !is_fit && chmod(".", 0755) < 0 ? -errno : directory_clean(AT_FDCWD, ".", 0, &counted);
    if (r == -EFBIG)
        return fault_set(fault, EFBIG,
                         "the installed files exceed the limits of a layer: %d files, %d GB, "
                         "directories %d deep",
                         TREE_MEMBERS_MAX, (int)(TREE_BYTES_MAX >> 30), TREE_DEPTH_MAX);
    if (r < 0)
        return fault_set(fault, -r, "cannot walk the installed files: %m");
    *ret_size = counted.size;
    return 0;
}

static int upper_layer_body(void *data, struct fault *fault)
{
    const struct cleaning *capture = data;
    int r = places_remove(fault);
    if (r < 0)
        return r;
    upper_layer_forget_shown(capture->files, capture->file_count);
    struct tree_size size = {0};
    r = upper_layer_settle(&size, fault);
    if (r < 0)
        return r;
    image_jail_tell(TOLD_SIZE, (int64_t)size.bytes, "");
    image_jail_tell(TOLD_FILES, (int64_t)size.files, "");
    return 0;
}

static void take_message(void *data, const struct message *message)
{
    struct image_layer *layer = data;
    uint64_t number = message->number > 0 ? (uint64_t)message->number : 0;
    if (message->what == TOLD_SIZE)
        layer->size_bytes = number;
    else if (message->what == TOLD_FILES)
        layer->file_count = number;
}

int upper_layer_clean(const char *upper, const struct plan_shown *files, size_t file_count,
                      struct image_layer *layer, struct fault *fault)
{
    struct cleaning capture = {files, file_count};
    const struct image_jail jail = {.root = upper, .body = upper_layer_body, .data = &capture};
    const struct subprocess_observer observer = {.message = take_message, .data = layer};
    return jailed_run(&jail, &observer, fault);
}
