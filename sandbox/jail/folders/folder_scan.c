#include "sandbox/jail/folders/folder_scan.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Where a directory is, which decides about the names in it. */
enum region {
    REGION_PLAIN,
    REGION_GIT,     /* a .git directory */
    REGION_MODULES, /* below its modules: git directories of submodules, at any depth */
    REGION_GIT_DATA, /* elsewhere in it */
    REGION_GITHUB,  /* a .github directory */
    REGION_PROTECTED,
};

/*
 * Settings of tools that run programs named in them when the folder is opened or entered, and hooks.
 * SECURITY.md has the list for people.
 */
static const char *const protected_names[] = {
    ".husky",        ".mcp.json",     ".envrc",       ".claude",  ".codex", ".gemini",
    ".opencode",     "opencode.json", ".cursor",      ".vscode",  ".idea",  ".bashrc",
    ".bash_profile", ".bash_login",   ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile",     ".zlogin",       ".zlogout",     ".kshrc",   ".cshrc", ".tcshrc",
    ".login",        "config.fish",
};

/* gitrepository-layout(5): each can name programs that git runs. */
static const char *const git_names[] = {"hooks", "config", "config.worktree", "info"};

struct walk {
    const struct folder *folder;
    struct folder_scan *scan;
    struct fault *fault;
};

/* A directory being read; the path is that of its entries, up to their names. */
struct level {
    int fd;
    char *path; /* PATH_MAX bytes, shared by all levels */
    size_t length;
    enum region region;
    unsigned depth;
};

void folder_scan_release(struct folder_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        free(scan->list[i].path);
    free(scan->list);
    *scan = (struct folder_scan){0};
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int refuse(const struct walk *walk, const char *what, int limit)
{
    return fault_set(walk->fault, E2BIG,
                     "%s has more than %d %s, too many for the mode rw, which looks at each before "
                     "every run: mount a smaller folder, or use the mode overlay",
                     walk->folder->path, limit, what);
}

/* What is not seen cannot be protected. */
static int refuse_to_read(const struct walk *walk, int error, const char *path)
{
    return fault_set(walk->fault, error,
                     "cannot look at %s/%s, which the mode rw does before every run: %s",
                     walk->folder->path, path, strerror(error));
}

static int add_part(struct walk *walk, const char *path, const struct stat *about,
                    enum folder_care care)
{
    struct folder_scan *scan = walk->scan;
    if (scan->count == FOLDER_PARTS_MAX)
        return refuse(walk, "protected files, sockets and named pipes", FOLDER_PARTS_MAX);
    struct folder_part *grown = reallocarray(scan->list, scan->count + 1, sizeof(*scan->list));
    if (grown == NULL)
        return fault_set(walk->fault, ENOMEM, "out of memory for a folder");
    scan->list = grown;
    char *copy = strdup(path);
    if (copy == NULL)
        return fault_set(walk->fault, ENOMEM, "out of memory for a folder");
    scan->list[scan->count++] = (struct folder_part){
        .path = copy, .care = care, .device = about->st_dev, .inode = about->st_ino};
    return 0;
}

/* The region of a directory of this name; *ret_care: what it needs itself. */
static enum region enter(enum region region, const char *name, enum folder_care *ret_care)
{
    *ret_care = CARE_NONE;
    switch (region) {
    case REGION_PLAIN:
        if (strcmp(name, ".git") == 0 || strcmp(name, ".github") == 0) {
            *ret_care = CARE_PIN;
            return name[4] == '\0' ? REGION_GIT : REGION_GITHUB;
        }
        if (!is_one_of(name, protected_names, ARRAY_LENGTH(protected_names)))
            return REGION_PLAIN;
        break;
    case REGION_GIT:
        if (strcmp(name, "modules") == 0 || strcmp(name, "worktrees") == 0) {
            *ret_care = CARE_PIN;
            return REGION_MODULES;
        }
        if (!is_one_of(name, git_names, ARRAY_LENGTH(git_names)))
            return REGION_GIT_DATA;
        break;
    case REGION_MODULES:
        if (!is_one_of(name, git_names, ARRAY_LENGTH(git_names)))
            return REGION_MODULES;
        break;
    case REGION_GITHUB:
        if (strcmp(name, "hooks") != 0)
            return REGION_PLAIN;
        break;
    case REGION_GIT_DATA:
    case REGION_PROTECTED:
        return region;
    }
    *ret_care = CARE_PROTECT;
    return REGION_PROTECTED;
}

/* Of a file that is no directory. */
static enum folder_care care_of_file(enum region region, const char *name, mode_t mode)
{
    enum folder_care care;
    if (S_ISSOCK(mode) || S_ISFIFO(mode))
        return CARE_HIDE;
    if (region == REGION_PLAIN && strcmp(name, ".git") == 0)
        return CARE_PROTECT;
    enter(region, name, &care);
    return care == CARE_PROTECT ? CARE_PROTECT : CARE_NONE;
}

static int read_level(struct walk *walk, const struct level *level);

/* One that cannot be read is another user's, whom a snippet cannot be, or has to be made readable. */
static int open_level(struct walk *walk, const struct level *level, const char *name,
                      const struct stat *about, int *ret_fd)
{
    *ret_fd = open_resolved(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (*ret_fd >= 0 || *ret_fd == -ENOENT || *ret_fd == -EXDEV ||
        (*ret_fd == -EACCES && about->st_uid != geteuid()))
        return 0;
    return refuse_to_read(walk, -*ret_fd, level->path);
}

static int look_at_directory(struct walk *walk, const struct level *level, const char *name,
                             const struct stat *about)
{
    enum folder_care care;
    enum region region = enter(level->region, name, &care);
    int r = care != CARE_NONE ? add_part(walk, level->path, about, care) : 0;
    if (r < 0)
        return r;
    if (level->depth == FOLDER_DEPTH_MAX)
        return refuse(walk, "levels", FOLDER_DEPTH_MAX);
    struct level below = {
        .path = level->path,
        .length = level->length + strlen(name) + 1,
        .region = region,
        .depth = level->depth + 1,
    };
    r = open_level(walk, level, name, about, &below.fd);
    if (r < 0 || below.fd < 0)
        return r;
    return read_level(walk, &below);
}

static bool may_need_care(const struct level *level, const struct dirent *entry)
{
    enum folder_care care = CARE_NONE;
    if (entry->d_type == DT_REG || entry->d_type == DT_LNK)
        care = care_of_file(level->region, entry->d_name, S_IFREG);
    else
        return true;
    return care != CARE_NONE;
}

static int look_at(struct walk *walk, const struct level *level, const struct dirent *entry)
{
    struct stat about;
    size_t length = strlen(entry->d_name);
    if (!may_need_care(level, entry))
        return 0;
    if (fstatat(level->fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : refuse_to_read(walk, errno, entry->d_name);
    if (level->length + length + 2 > PATH_MAX)
        return fault_set(walk->fault, ENAMETOOLONG, "%s has a path longer than %d bytes",
                         walk->folder->path, PATH_MAX);
    memcpy(level->path + level->length, entry->d_name, length + 1);
    int r = 0;
    if (S_ISDIR(about.st_mode)) {
        r = look_at_directory(walk, level, entry->d_name, &about);
    } else {
        enum folder_care care = care_of_file(level->region, entry->d_name, about.st_mode);
        r = care != CARE_NONE ? add_part(walk, level->path, &about, care) : 0;
    }
    level->path[level->length] = '\0';
    return r;
}

/* Takes over level->fd. The path of the directory ends where names of entries are appended. */
static int read_level(struct walk *walk, const struct level *level)
{
    OWNED(directory_release) DIR *directory = fdopendir(level->fd);
    if (directory == NULL) {
        int r = refuse_to_read(walk, errno, level->path);
        close(level->fd);
        return r;
    }
    if (level->length > 0) {
        level->path[level->length - 1] = '/';
        level->path[level->length] = '\0';
    }
    int r = 0;
    const struct dirent *entry;
    while (errno = 0, (entry = directory_next(directory)) != NULL) {
        if (walk->scan->names++ == FOLDER_NAMES_MAX)
            return refuse(walk, "names", FOLDER_NAMES_MAX);
        r = look_at(walk, level, entry);
        if (r < 0)
            return r;
    }
    return errno == 0 ? 0 : refuse_to_read(walk, errno, level->path);
}

int folder_scan_read(const struct folder *folder, struct folder_scan *ret_scan, struct fault *fault)
{
    OWNED(folder_scan_release) struct folder_scan scan = {0};
    struct walk walk = {folder, &scan, fault};
    char path[PATH_MAX] = "";
    struct level top = {.path = path};
    top.fd = open_resolved(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, RESOLVE_BENEATH);
    if (top.fd < 0)
        return refuse_to_read(&walk, -top.fd, path);
    int r = read_level(&walk, &top);
    if (r < 0)
        return r;
    *ret_scan = scan;
    scan = (struct folder_scan){0};
    return 0;
}

bool folder_scan_has(const struct folder_scan *before, const struct folder_part *part)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct folder_part *known = &before->list[i];
        if (known->inode == part->inode && known->device == part->device &&
            strcmp(known->path, part->path) == 0)
            return true;
    }
    return false;
}
