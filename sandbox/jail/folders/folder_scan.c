#include "sandbox/jail/folders/folder_scan.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/folder_parts.h"
#include "sandbox/jail/folders/folder_walk.h"
#include "sandbox/jail/folders/git_files.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void walk_release(struct folder_walk *walk)
{
    file_links_release(&walk->links);
}

static int read_level(struct folder_walk *walk, const struct level *level);

/* One that cannot be read is another user's, whom a snippet cannot be, or has to be made readable. */
static int open_level(struct folder_walk *walk, const struct level *level, const char *name,
                      const struct stat *about, int *ret_fd)
{
    *ret_fd = open_resolved(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (*ret_fd >= 0 || *ret_fd == -ENOENT || *ret_fd == -EXDEV ||
        (*ret_fd == -EACCES && about->st_uid != geteuid()))
        return 0;
    return walk_refuse_to_read(walk, -*ret_fd, level->path);
}

/* Opens the directory of this name as the level below; its fd is -1 if there is nothing to see. */
static int enter_level(struct folder_walk *walk, const struct level *level, const char *name,
                       const struct stat *about, struct level *ret_below)
{
    *ret_below = (struct level){
        .fd = -1,
        .path = level->path,
        .length = level->length + strlen(name) + 1,
        .depth = level->depth + 1,
    };
    if (level->depth == FOLDER_DEPTH_MAX)
        return walk_refuse(walk, "levels", FOLDER_DEPTH_MAX);
    return open_level(walk, level, name, about, &ret_below->fd);
}

static int look_at_directory(struct folder_walk *walk, const struct level *level, const char *name,
                             const struct stat *about)
{
    enum folder_care care;
    enum region region = protected_names_enter(level->region, name, &care);
    struct level below;
    int r = enter_level(walk, level, name, about, &below);
    bool is_git = care == CARE_PROTECT && strcasecmp(name, ".git") == 0;
    if (r == 0 && region != REGION_PROTECTED && below.fd >= 0 && git_directory_is(below.fd)) {
        region = REGION_PROTECTED;
        care = CARE_PROTECT;
        is_git = true;
    }
    below.region = region;
    if (r == 0 && is_git)
        r = walk_pin_above(walk, level->path);
    if (r == 0 && care != CARE_NONE)
        r = walk_add_part(walk, walk->at, level->path, about, care);
    if (r == 0 && care == CARE_PROTECT)
        folder_parts_set_read(&walk->scans[walk->at], level->path);
    if (r == 0 && below.fd >= 0)
        return read_level(walk, &below);
    if (below.fd >= 0)
        close(below.fd);
    return r;
}

static int look_at_file(struct folder_walk *walk, const struct level *level, const char *name,
                        const struct stat *about)
{
    bool leads_away = S_ISSOCK(about->st_mode) || S_ISFIFO(about->st_mode);
    enum folder_care care = leads_away ? CARE_HIDE : protected_names_care(level->region, name);
    int r = care != CARE_NONE ? walk_add_part(walk, walk->at, level->path, about, care) : 0;
    if (r == 0 && care == CARE_PROTECT && strcasecmp(name, ".git") == 0)
        r = walk_pin_above(walk, level->path);
    if (r < 0 || leads_away || (care == CARE_NONE && level->region != REGION_PROTECTED))
        return r;
    r = walk_add_links(walk, about);
    if (r == 0 && S_ISLNK(about->st_mode))
        r = walk_follow_link(walk, level, name);
    return r < 0 ? r : walk_follow_file(walk, level, name);
}

/* Whether a name has to be looked at: most do not, and most folders have many. */
static bool is_of_interest(const struct level *level, const struct dirent *entry)
{
    return (entry->d_type != DT_REG && entry->d_type != DT_LNK) ||
           level->region == REGION_PROTECTED ||
           protected_names_care(level->region, entry->d_name) != CARE_NONE;
}

static int look_at(struct folder_walk *walk, const struct level *level, const struct dirent *entry)
{
    struct stat about;
    if (!is_of_interest(level, entry))
        return 0;
    if (fstatat(level->fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : walk_refuse_to_read(walk, errno, level->path);
    return S_ISDIR(about.st_mode) ? look_at_directory(walk, level, entry->d_name, &about)
                                  : look_at_file(walk, level, entry->d_name, &about);
}

/* Protects other names of protected files. */
static int look_for_links(struct folder_walk *walk, const struct level *level,
                          const struct dirent *entry)
{
    struct stat about;
    struct level below;
    if (entry->d_type == DT_LNK)
        return 0;
    if (fstatat(level->fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : walk_refuse_to_read(walk, errno, level->path);
    bool is_name =
        S_ISREG(about.st_mode) && about.st_nlink > 1 && file_links_have(&walk->links, &about);
    /* Asked of few only: there may be many parts, of long paths. */
    if ((!is_name && !S_ISDIR(about.st_mode)) ||
        folder_parts_cover(&walk->scans[walk->at], level->path))
        return 0;
    if (is_name)
        return walk_add_part(walk, walk->at, level->path, &about, CARE_PROTECT);
    int r = enter_level(walk, level, entry->d_name, &about, &below);
    return r < 0 || below.fd < 0 ? r : read_level(walk, &below);
}

/* level->path is that of the entry while it is looked at. */
static int read_entry(struct folder_walk *walk, const struct level *level,
                      const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    int r = walk_count_name(walk);
    if (r < 0)
        return r;
    if (level->length + length + 2 > PATH_MAX)
        return fault_set(walk->fault, ENAMETOOLONG, "%s has a path longer than %d bytes",
                         walk_folder(walk)->path, PATH_MAX);
    memcpy(level->path + level->length, entry->d_name, length + 1);
    r = walk->look(walk, level, entry);
    level->path[level->length] = '\0';
    return r;
}

/* Takes over level->fd. The path of the directory ends where names of entries are appended. */
static int read_level(struct folder_walk *walk, const struct level *level)
{
    OWNED(directory_release) DIR *directory = fdopendir(level->fd);
    if (directory == NULL) {
        int r = walk_refuse_to_read(walk, errno, level->path);
        close(level->fd);
        return r;
    }
    if (level->length > 0) {
        level->path[level->length - 1] = '/';
        level->path[level->length] = '\0';
    }
    const struct dirent *entry;
    while (errno = 0, (entry = directory_next(directory)) != NULL) {
        int r = read_entry(walk, level, entry);
        if (r < 0)
            return r;
    }
    return errno == 0 ? 0 : walk_refuse_to_read(walk, errno, level->path);
}

/* Reads the folder at hand, from its top. */
static int read_folder(struct folder_walk *walk)
{
    char path[PATH_MAX] = "";
    struct level top = {.path = path};
    walk->names = 0;
    top.fd = open_resolved(walk_folder(walk)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           RESOLVE_BENEATH);
    if (top.fd < 0)
        return walk_refuse_to_read(walk, -top.fd, path);
    struct stat about;
    int r = walk->look == look_at ? walk_follow_above(walk) : 0;
    if (r == 0 && walk->look == look_at && git_directory_is(top.fd) && fstat(top.fd, &about) == 0)
        r = walk_add_part(walk, walk->at, "", &about, CARE_PROTECT);
    if (r < 0) {
        close(top.fd);
        return r;
    }
    return read_level(walk, &top);
}

/* Reads a protected directory that something led to. */
static int read_part(struct folder_walk *walk, const char *part)
{
    char path[PATH_MAX];
    struct level level = {.path = path, .region = REGION_PROTECTED};
    level.fd =
        open_resolved(walk_folder(walk)->fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    struct stat about;
    if (level.fd == -ENOTDIR || level.fd == -ENOENT || level.fd == -ELOOP || level.fd == -EXDEV ||
        (level.fd == -EACCES &&
         fstatat(walk_folder(walk)->fd, part, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         about.st_uid != geteuid()))
        return 0;
    if (level.fd < 0)
        return walk_refuse_to_read(walk, -level.fd, part);
    level.length = strlen(part) + 1;
    snprintf(path, sizeof(path), "%s", part);
    for (const char *at = part; *at != '\0'; at++)
        level.depth += *at == '/';
    return read_level(walk, &level);
}

/* Calls `read` for each folder that snippets may change. */
static int read_folders(struct folder_walk *walk, int (*read)(struct folder_walk *walk))
{
    int r = 0;
    for (walk->at = 0; r == 0 && walk->at < walk->folders->count; walk->at++) {
        if (walk_folder(walk)->mode == FOLDER_WRITABLE)
            r = read(walk);
        if (r < 0)
            break;
    }
    return r;
}

/* They may lead to others, in any of the folders. */
static int read_parts(struct folder_walk *walk)
{
    struct folder_scan *scan = &walk->scans[walk->at];
    int r = 0;
    for (size_t i = 0; r == 0 && i < scan->count; i++) {
        if (scan->list[i].care != CARE_PROTECT || scan->list[i].is_read)
            continue;
        scan->list[i].is_read = true;
        OWNED_MEMORY char *path = strdup(scan->list[i].path);
        r = path == NULL ? walk_refuse_memory(walk) : path[0] != '\0' ? read_part(walk, path) : 0;
    }
    return r;
}

static bool has_unread(const struct folder_walk *walk)
{
    for (size_t i = 0; i < walk->folders->count; i++)
        for (size_t j = 0; j < walk->scans[i].count; j++)
            if (walk->scans[i].list[j].care == CARE_PROTECT && !walk->scans[i].list[j].is_read)
                return true;
    return false;
}

/* Files of this program have no protected name in a folder, but may have another one: uv and pnpm make them. */
static int add_own_links(struct folder_walk *walk)
{
    struct stat about;
    int r = 0;
    for (size_t i = 0; r == 0 && i < walk->folders->own_count; i++)
        if (stat(walk->folders->own[i], &about) == 0)
            r = walk_add_links(walk, &about);
    return r;
}

int folder_scan_read(const struct folders *folders, struct folder_scan *scans, struct fault *fault)
{
    OWNED(walk_release)
    struct folder_walk walk = {.folders = folders, .scans = scans, .fault = fault, .look = look_at};
    int r = read_folders(&walk, read_folder);
    walk.names = 0; /* of all parts: one leads to the next, from folder to folder */
    while (r == 0 && has_unread(&walk))
        r = read_folders(&walk, read_parts);
    if (r == 0)
        r = add_own_links(&walk);
    if (r == 0 && file_links_close(&walk.links)) {
        walk.look = look_for_links;
        r = read_folders(&walk, read_folder);
    }
    for (size_t i = 0; i < folders->count; i++)
        folder_parts_close(&scans[i]);
    return r;
}
