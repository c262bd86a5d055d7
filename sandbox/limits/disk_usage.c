#include "sandbox/limits/disk_usage.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/process_walk.h"
#include "sandbox/base/text_file.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define BLOCK_SIZE 512 /* of st_blocks: stat(2) */
#define INIT_PID "1"
#define IS_EXITING 4 /* PF_EXITING of the flags in proc_pid_stat(5) */

bool disk_usage_exceeds(const struct disk_usage *usage, const struct disk_usage *most)
{
    return usage->bytes > most->bytes || usage->files > most->files;
}

static bool is_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ESRCH;
}

static void add_entry(const struct stat *about, struct disk_usage *usage)
{
    uint64_t bytes = (uint64_t)about->st_blocks * BLOCK_SIZE;
    bool has_names = !S_ISDIR(about->st_mode) && about->st_nlink > 1;
    usage->bytes += has_names ? bytes / about->st_nlink : bytes;
    usage->files++;
}

static int add_below(int parent_fd, const char *name, unsigned depth, const struct disk_usage *most,
                     struct disk_usage *usage)
{
    OWNED(directory_release) DIR *directory = directory_open_itself(parent_fd, name);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd < 0)
        return depth > 0 && is_gone(errno) ? 0 : -errno;
    if (depth == UPPER_DEPTH_MAX)
        return -ELOOP;
    int r = 0;
    for (struct dirent *entry; r == 0 && !disk_usage_exceeds(usage, most) &&
                               (entry = directory_next(directory)) != NULL;) {
        struct stat about;
        if (fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0) {
            r = is_gone(errno) ? 0 : -errno;
            continue;
        }
        add_entry(&about, usage);
        if (S_ISDIR(about.st_mode))
            r = add_below(fd, entry->d_name, depth + 1, most, usage);
    }
    return r;
}

int disk_usage_add_tree(int directory_fd, const struct disk_usage *most, struct disk_usage *usage)
{
    return add_below(directory_fd, ".", 0, most, usage);
}

/* A file that was counted. */
struct inode {
    dev_t device;
    ino_t number;
};

struct removed {
    void *seen; /* owned: a tree of struct inode, tsearch(3) */
    const struct proc_usage *jail;
    dev_t device;
    const struct disk_usage *most;
    struct disk_usage *usage;
};

static int compare(const void *one, const void *other)
{
    const struct inode *a = one;
    const struct inode *b = other;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void removed_release(struct removed *removed)
{
    tdestroy(removed->seen, free);
}

/* Processes share open files: each counts once. 0 or -ENOMEM. */
static int add_removed(struct removed *removed, const struct stat *about)
{
    const struct inode inode = {about->st_dev, about->st_ino};
    if (tfind(&inode, &removed->seen, compare) != NULL)
        return 0;
    struct inode *added = malloc(sizeof(*added));
    if (added == NULL)
        return -ENOMEM;
    *added = inode;
    if (tsearch(added, &removed->seen, compare) == NULL) {
        free(added);
        return -ENOMEM;
    }
    add_entry(about, removed->usage);
    return 0;
}

static bool is_of_overlay(int directory_fd, const char *name)
{
    OWNED_FD int fd = openat(directory_fd, name, O_PATH | O_CLOEXEC);
    struct statfs about;
    return fd >= 0 && fstatfs(fd, &about) == 0 && about.f_type == OVERLAYFS_SUPER_MAGIC;
}

static bool is_of_jail(const struct removed *removed, int directory_fd, const char *name,
                       dev_t device)
{
    return removed->jail->has_guard ? device == removed->device : is_of_overlay(directory_fd, name);
}

/* Such a thread's directories belong to root once it has no memory any more; it closes its files then. True, too: it has ended. */
static bool is_exiting(int threads_fd, const char *thread)
{
    char path[32];
    char text[1024];
    snprintf(path, sizeof(path), "%.16s/stat", thread);
    int r = text_file_read(threads_fd, path, text, sizeof(text));
    if (r < 0)
        return is_gone(-r);
    const char *name_end = strrchr(text, ')');
    unsigned flags = 0;
    return name_end != NULL && sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
           (flags & IS_EXITING) != 0;
}

/* The descriptors of a thread, which may have others than its process. */
static int add_thread(struct removed *removed, int threads_fd, const char *thread)
{
    char path[32];
    snprintf(path, sizeof(path), "%.16s/fd", thread);
    OWNED(directory_release) DIR *files = directory_open(threads_fd, path);
    int fd = files != NULL ? dirfd(files) : -1;
    if (fd < 0) {
        int r = -errno;
        return is_gone(-r) || is_exiting(threads_fd, thread) ? 0 : r;
    }
    int r = 0;
    for (const char *name; r == 0 && !disk_usage_exceeds(removed->usage, removed->most) &&
                           (name = directory_next_number(files)) != NULL;) {
        struct stat about;
        if (fstatat(fd, name, &about, 0) < 0)
            r = errno == EACCES && !is_exiting(threads_fd, thread) ? -EACCES : 0;
        else if (S_ISREG(about.st_mode) && about.st_nlink == 0 &&
                 is_of_jail(removed, fd, name, about.st_dev))
            r = add_removed(removed, &about);
    }
    return r;
}

static int add_process(struct removed *removed, int proc_fd, const char *process)
{
    char path[32];
    snprintf(path, sizeof(path), "%.16s/task", process);
    OWNED(directory_release) DIR *threads = directory_open(proc_fd, path);
    if (threads == NULL)
        return is_gone(errno) ? 0 : -errno;
    int r = 0;
    for (const char *thread; r == 0 && (thread = directory_next_number(threads)) != NULL;)
        r = add_thread(removed, dirfd(threads), thread);
    return r;
}

int disk_usage_add_removed(const struct proc_usage *jail, dev_t device,
                           const struct disk_usage *most, struct disk_usage *usage)
{
    OWNED(removed_release)
    struct removed removed = {.jail = jail, .device = device, .most = most, .usage = usage};
    OWNED(process_walk_release)
    struct process_walk processes = process_walk_open(jail->proc_fd, jail->root);
    if (jail->root == 0 && processes.all == NULL)
        return -errno;
    size_t position = 0;
    int r = 0;
    for (const char *name; r == 0 && (name = process_walk_next(&processes)) != NULL;)
        if (!proc_usage_is_ours(jail, name, position++))
            r = add_process(&removed, jail->proc_fd, name);
    return r;
}
