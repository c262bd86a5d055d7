#include "sandbox/run_files.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/fd_message.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define RESOLVE_FLAGS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

/* A regular file, as it was found. */
struct candidate {
    char *path; /* owned */
    struct timespec written_at, changed_at;
    ino_t inode;
    uint64_t size;
};

/* A walk through a directory, level by level: files near the top come first. */
struct files_walk {
    const struct run_files_source *source; /* borrowed */
    enum left_place place; /* only the files of the work directory are returned */
    int root_fd; /* borrowed */
    struct run_left_out *left_out; /* borrowed */
    struct candidate found[RUN_FILES_LOOKED_MAX];
    size_t found_count;
    size_t passed; /* regular files that were not looked at */
    size_t inputs; /* unchanged input files among those that were */
    char *directories[RUN_DIRECTORIES_MAX]; /* owned; to be read from `next` on */
    size_t directory_count, next;
    size_t names; /* read so far */
    bool is_cut; /* some names or directories were left out */
    bool is_short; /* of descriptors or memory, so that something could not be looked at */
};

static void walk_free(struct files_walk **walk)
{
    if (*walk == NULL)
        return;
    for (size_t i = 0; i < (*walk)->found_count; i++)
        free((*walk)->found[i].path);
    for (size_t i = 0; i < (*walk)->directory_count; i++)
        free((*walk)->directories[i]);
    free(*walk);
}

/* O_NONBLOCK and O_NOCTTY: opening a FIFO or a device must not block or have any other effect. */
static int open_below(int root_fd, const char *path, int flags)
{
    return open_resolved(root_fd, path, (uint64_t)(OPEN_FLAGS | flags), RESOLVE_FLAGS);
}

/* For its owner: a server of root, which can read everything, makes the same choice. */
static bool is_readable(const struct stat *about)
{
    return S_ISDIR(about->st_mode) ? (about->st_mode & 0500) == 0500 : (about->st_mode & 0400) != 0;
}

/* A descriptor of the regular file, or -1. */
static int open_regular(int root_fd, const char *path, uint64_t *ret_size)
{
    OWNED_FD int fd = open_below(root_fd, path, 0);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size < 0)
        return -1;
    *ret_size = (uint64_t)about.st_size;
    return fd_take(&fd);
}

static bool is_input(const struct files_walk *walk, const char *path)
{
    uint64_t size = 0;
    if (walk->source->inputs.fd < 0)
        return false;
    OWNED_FD int fd = open_regular(walk->root_fd, path, &size);
    return fd >= 0 && run_inputs_is_unchanged(&walk->source->inputs, path, fd);
}

static bool is_before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec
                                        : one->tv_nsec < other->tv_nsec;
}

static bool was_seen(const struct run_files_seen *seen, const struct stat *about)
{
    for (size_t i = 0; seen != NULL && i < seen->count; i++) {
        if (seen->list[i].inode == about->st_ino &&
            !is_before(&seen->list[i].changed_at, &about->st_ctim))
            return true;
    }
    return false;
}

/* By the time of the last change, which a snippet cannot choose. */
static bool is_new(const struct run_files_source *source, const struct stat *about)
{
    return !is_before(&about->st_ctim, &source->since) && !was_seen(source->seen, about);
}

/* Of those that were seen before, only what the clock may still confuse with new ones is kept. */
static void note_seen(const struct files_walk *walk)
{
    struct run_files_seen *seen = walk->source->seen;
    if (seen == NULL)
        return;
    size_t count = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (!is_before(&seen->list[i].changed_at, &walk->source->since))
            seen->list[count++] = seen->list[i];
    }
    for (size_t i = 0; i < walk->found_count && count < ARRAY_LENGTH(seen->list); i++) {
        seen->list[count].inode = walk->found[i].inode;
        seen->list[count++].changed_at = walk->found[i].changed_at;
    }
    seen->count = count;
}

/* The path of `left` is borrowed. */
static void leave_out(struct run_left_out *left_out, enum left_reason reason,
                      const struct run_left *left)
{
    size_t *count = &left_out->count[reason];
    char *path = *count < RUN_LEFT_MAX ? strdup(left->path) : NULL;
    if (path == NULL) {
        left_out->more[reason]++;
        return;
    }
    left_out->list[reason][*count] = *left;
    left_out->list[reason][(*count)++].path = path;
}

/* Of the work directory alone: what is elsewhere is all left out. */
static void leave_out_new(struct files_walk *walk, enum left_reason reason, const char *path,
                          const struct stat *about)
{
    bool is_directory = S_ISDIR(about->st_mode);
    if (walk->place == LEFT_IN_WORK && is_new(walk->source, about))
        leave_out(walk->left_out, reason,
                  &(struct run_left){.path = (char *)path,
                                     .is_directory = is_directory,
                                     .size = is_directory ? 0 : (uint64_t)about->st_size});
}

static void look_at_file(struct files_walk *walk, char **path, const struct stat *about)
{
    if (walk->place == LEFT_IN_WORK && !is_readable(about)) {
        leave_out_new(walk, LEFT_UNREADABLE, *path, about);
        return;
    }
    if (walk->place == LEFT_IN_WORK && is_input(walk, *path)) {
        walk->inputs++;
        return;
    }
    walk->found[walk->found_count++] = (struct candidate){.path = pointer_take(path),
                                                          .written_at = about->st_mtim,
                                                          .changed_at = about->st_ctim,
                                                          .inode = about->st_ino,
                                                          .size = (uint64_t)about->st_size};
}

static bool has_file(int directory_fd, const char *below, const char *name)
{
    struct stat about;
    char path[NAME_MAX + 32];
    snprintf(path, sizeof(path), "%s/%s", below, name);
    return fstatat(directory_fd, path, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode);
}

/*
 * Directories of programs for their own use: settings, caches and packages, in thousands of files. The file
 * CACHEDIR.TAG marks caches (bford.info/cachedir), pyvenv.cfg environments of Python.
 */
static bool is_unlisted(int parent_fd, const char *name)
{
    return name[0] == '.' || strcmp(name, "node_modules") == 0 ||
           has_file(parent_fd, name, "CACHEDIR.TAG") || has_file(parent_fd, name, "pyvenv.cfg");
}

/* Of what cannot be opened it is not known. */
static bool is_empty(const struct files_walk *walk, const char *path)
{
    OWNED_FD int fd = open_below(walk->root_fd, path, O_DIRECTORY);
    OWNED(directory_release) DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    if (directory == NULL)
        return false;
    fd_take(&fd); /* the directory's now */
    while ((entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

static size_t depth_of(const char *path)
{
    size_t depth = path[0] != '\0';
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

static void look_at_directory(struct files_walk *walk, char **path, int parent_fd, const char *name)
{
    struct stat about;
    if (strcmp(name, "__pycache__") == 0 || strcmp(name, "node-compile-cache") == 0 ||
        fstatat(parent_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (!is_readable(&about))
        leave_out_new(walk, LEFT_UNREADABLE, *path, &about);
    else if (is_unlisted(parent_fd, name) && is_empty(walk, *path))
        return;
    else if (is_unlisted(parent_fd, name))
        leave_out_new(walk, LEFT_UNLISTED, *path, &about);
    else if (depth_of(*path) >= RUN_FILE_DEPTH_MAX)
        leave_out_new(walk, LEFT_TOO_DEEP, *path, &about);
    else if (walk->directory_count < RUN_DIRECTORIES_MAX)
        walk->directories[walk->directory_count++] = pointer_take(path);
    else
        walk->is_cut = true;
}

/* NULL: too long, or no memory for it. */
static char *join_path(const char *below, const char *name)
{
    char *path = NULL;
    int length = asprintf(&path, "%s%s%s", below, below[0] != '\0' ? "/" : "", name);
    if (length < 0)
        return NULL;
    if (length >= RUN_FILE_PATH_SIZE)
        memory_release(&path);
    return path;
}

/* An entry of the directory `below`, which is "" at the top. */
static void look_at(struct files_walk *walk, int directory_fd, const char *below,
                    const struct dirent *entry)
{
    bool is_work = walk->place == LEFT_IN_WORK;
    bool is_program =
        is_work && below[0] == '\0' && strcmp(entry->d_name, walk->source->code_name) == 0;
    bool is_of_settings = !is_work && entry->d_name[0] == '.';
    if (is_of_settings || (is_program && entry->d_type == DT_REG))
        return;
    struct stat about;
    if ((entry->d_type != DT_REG && entry->d_type != DT_DIR) ||
        fstatat(directory_fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
        (S_ISREG(about.st_mode) && !is_new(walk->source, &about)))
        return;
    if (S_ISREG(about.st_mode) && walk->found_count == RUN_FILES_LOOKED_MAX) {
        walk->passed++;
        return;
    }
    OWNED_MEMORY char *path = join_path(below, entry->d_name);
    if (path == NULL)
        leave_out_new(walk, LEFT_TOO_DEEP, below, &about);
    else if (S_ISREG(about.st_mode))
        look_at_file(walk, &path, &about);
    else if (S_ISDIR(about.st_mode))
        look_at_directory(walk, &path, directory_fd, entry->d_name);
}

/* Whether a descriptor, or this errno in its place, tells of what the machine lacks and not of the file. */
static bool is_shortage(int fd)
{
    return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM;
}

/* tmpfs lists the newest names first. */
static void read_directory(struct files_walk *walk, const char *path)
{
    OWNED_FD int fd = open_below(walk->root_fd, path[0] != '\0' ? path : ".", O_DIRECTORY);
    struct stat about;
    bool is_open = fd >= 0 && fstat(fd, &about) == 0 && is_readable(&about);
    OWNED(directory_release) DIR *directory = is_open ? fdopendir(fd) : NULL;
    if (is_shortage(fd) || (is_open && directory == NULL)) {
        walk->is_short = true;
        return;
    }
    if (directory == NULL) {
        if (path[0] == '\0' && fstat(walk->root_fd, &about) == 0)
            leave_out_new(walk, LEFT_UNREADABLE, ".", &about);
        return;
    }
    int directory_fd = fd_take(&fd); /* `directory` owns it */
    for (const struct dirent *entry; (entry = directory_next(directory)) != NULL;) {
        if (walk->names++ == RUN_NAMES_MAX) {
            walk->is_cut = true;
            return;
        }
        look_at(walk, directory_fd, path, entry);
    }
}

static int compare_candidates(const void *one, const void *other)
{
    const struct candidate *first = one;
    const struct candidate *second = other;
    if (is_before(&first->written_at, &second->written_at))
        return -1;
    if (is_before(&second->written_at, &first->written_at))
        return 1;
    return strcmp(first->path, second->path);
}

static void take_file(int root_fd, char **path, struct run_files *files)
{
    uint64_t size = 0;
    OWNED_FD int fd = open_regular(root_fd, *path, &size);
    if (fd >= 0)
        files->list[files->count++] = (struct run_file){pointer_take(path), fd_take(&fd), size};
}

/* The files that were not looked at may include the input files that were not met. */
static void discount_inputs(struct files_walk *walk)
{
    const struct run_inputs *inputs = &walk->source->inputs;
    bool may_be_unmet = inputs->fd >= 0 && walk->source->since.tv_sec == 0; /* else all are known */
    size_t unmet = may_be_unmet ? inputs->count - walk->inputs : 0;
    if (walk->passed == 0 || unmet == 0)
        return;
    walk->passed -= unmet < walk->passed ? unmet : walk->passed;
    walk->is_cut = true;
}

/* Finds the files of a place, the oldest first. NULL: no memory. */
static struct files_walk *walk_through(const struct run_files_source *source, enum left_place place,
                                       struct run_left_out *left_out)
{
    const struct run_directories *directories = source->directories;
    const int fds[LEFT_PLACES] = {[LEFT_IN_WORK] = directories->work_fd,
                                  [LEFT_IN_TEMPORARY] = directories->temporary_fd,
                                  [LEFT_IN_HOME] = directories->home_fd};
    struct files_walk *walk = calloc(1, sizeof(*walk));
    if (walk == NULL)
        return NULL;
    walk->source = source;
    walk->place = place;
    walk->root_fd = fds[place];
    walk->left_out = left_out;
    read_directory(walk, "");
    while (walk->next < walk->directory_count && walk->names <= RUN_NAMES_MAX)
        read_directory(walk, walk->directories[walk->next++]);
    note_seen(walk);
    qsort(walk->found, walk->found_count, sizeof(walk->found[0]), compare_candidates);
    return walk;
}

static void collect_files(const struct run_files_source *source, struct run_result *result)
{
    struct run_files *files = &result->files;
    OWNED(walk_free)
    struct files_walk *walk = walk_through(source, LEFT_IN_WORK, &result->left_out);
    result->files_lost = walk == NULL || walk->is_short;
    if (result->files_lost)
        return;
    size_t most = source->files_max != 0 ? source->files_max : RUN_FILES_MAX;
    size_t first = walk->found_count > most ? walk->found_count - most : 0;
    for (size_t i = first; i < walk->found_count; i++)
        take_file(walk->root_fd, &walk->found[i].path, files);
    discount_inputs(walk);
    files->more = walk->passed + walk->found_count - files->count;
    files->more_at_least = walk->is_cut;
}

/* The newest files of another place, by name. */
static void name_files(const struct run_files_source *source, enum left_place place,
                       struct run_left_out *left_out)
{
    OWNED(walk_free) struct files_walk *walk = walk_through(source, place, left_out);
    for (size_t i = walk != NULL ? walk->found_count : 0; i > 0; i--) {
        const struct candidate *found = &walk->found[i - 1];
        leave_out(left_out, LEFT_ELSEWHERE,
                  &(struct run_left){.path = found->path, .place = place, .size = found->size});
    }
    left_out->more[LEFT_ELSEWHERE] += walk != NULL ? walk->passed : 0;
}

/* The number in "0012.png"; 0: it is no such name. */
static unsigned figure_number(const char *name)
{
    if (strspn(name, "0123456789") != 4 || strcmp(name + 4, ".png") != 0)
        return 0;
    return (unsigned)strtoul(name, NULL, 10);
}

static int compare_numbers(const void *one, const void *other)
{
    unsigned first = *(const unsigned *)one;
    unsigned second = *(const unsigned *)other;
    return first < second ? -1 : first > second;
}

/* The numbers of figures in the directory, in their order; at most RUN_NAMES_MAX. */
static size_t list_figures(DIR *directory, unsigned *numbers, struct run_files *figures)
{
    size_t count = 0;
    size_t names = 0;
    for (const struct dirent *entry; (entry = directory_next(directory)) != NULL;) {
        unsigned number = entry->d_type == DT_REG ? figure_number(entry->d_name) : 0;
        if (names++ == RUN_NAMES_MAX) {
            figures->more_at_least = true;
            break;
        }
        if (number > 0 && count < RUN_NAMES_MAX)
            numbers[count++] = number;
        else
            figures->more += number > 0;
    }
    figures->more_at_least = figures->more_at_least || count >= RUN_FIGURES_COUNTED_MAX;
    qsort(numbers, count, sizeof(numbers[0]), compare_numbers);
    return count;
}

static void collect_figures(const struct run_files_source *source, struct run_files *figures)
{
    int home_fd = source->directories->home_fd;
    OWNED_FD int fd = open_below(home_fd, RUN_FIGURES_PATH, O_DIRECTORY);
    OWNED(directory_release) DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL)
        return;
    int directory_fd = fd_take(&fd);
    unsigned numbers[RUN_NAMES_MAX] = {0};
    size_t count = list_figures(directory, numbers, figures);
    for (size_t i = 0; i < count; i++) {
        OWNED_MEMORY char *name = NULL;
        struct stat about;
        if (asprintf(&name, "%04u.png", numbers[i]) < 0 ||
            fstatat(directory_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
            is_before(&about.st_ctim, &source->since))
            continue;
        OWNED_MEMORY char *to_remove = source->removes_figures ? strdup(name) : NULL;
        if (about.st_size > 0 && figures->count < RUN_FIGURES_MAX)
            take_file(directory_fd, &name, figures);
        else
            figures->more++;
        if (to_remove != NULL)
            unlinkat(directory_fd, to_remove, 0);
    }
}

/* How many upper layers a run has. */
static size_t count_upper(const struct folders *folders)
{
    size_t count = 0;
    for (size_t i = 0; folders != NULL && i < folders->count; i++)
        count += folders->list[i].mode == FOLDER_OVERLAY;
    return count;
}

void run_directories_receive(int files_fd, const struct folders *folders,
                             struct run_directories *ret_directories)
{
    int fds[3 + FOLDERS_MAX];
    char byte;
    size_t upper_count = count_upper(folders);
    const struct fd_message message = {&byte, 1, fds, 3 + upper_count};
    *ret_directories = RUN_DIRECTORIES_NONE;
    if (fd_message_receive(files_fd, &message, MSG_DONTWAIT) <= 0)
        return;
    ret_directories->work_fd = fds[0];
    ret_directories->home_fd = fds[1];
    ret_directories->temporary_fd = fds[2];
    ret_directories->upper_count = upper_count;
    memcpy(ret_directories->upper_fds, fds + 3, upper_count * sizeof(int));
}

void run_directories_close(struct run_directories *directories)
{
    fd_close(&directories->work_fd);
    fd_close(&directories->home_fd);
    fd_close(&directories->temporary_fd);
    for (size_t i = 0; i < directories->upper_count; i++)
        fd_close(&directories->upper_fds[i]);
    directories->upper_count = 0;
}

/* One for each overlay folder, in their order; those of a session are needed again. */
static void take_folders(const struct run_files_source *source, struct run_folders *folders)
{
    const struct folders *all = source->guard->folders;
    const struct run_directories *directories = source->directories;
    for (size_t i = 0; all != NULL && i < all->count; i++) {
        const struct folder *folder = &all->list[i];
        size_t known = folders->count + folders->lost;
        if (folder->mode != FOLDER_OVERLAY)
            continue;
        int fd = known < directories->upper_count
                     ? fcntl(directories->upper_fds[known], F_DUPFD_CLOEXEC, 0)
                     : -1;
        if (fd < 0)
            folders->lost++;
        else
            folders->list[folders->count++] =
                (struct run_folder){folder, fd, source->folders_since};
    }
}

void run_files_collect(const struct run_files_source *source, struct run_result *result)
{
    if (!source->is_look)
        folder_guard_compare(source->guard, &result->appeared);
    if (source->uppers != NULL)
        result->folders.directory = upper_directory_take(source->uppers);
    take_folders(source, &result->folders);
    result->files_lost = source->directories->work_fd < 0 || source->directories->home_fd < 0;
    if (result->files_lost)
        return;
    collect_files(source, result);
    if (result->files_lost)
        return;
    name_files(source, LEFT_IN_TEMPORARY, &result->left_out);
    name_files(source, LEFT_IN_HOME, &result->left_out);
    collect_figures(source, &result->figures);
}
