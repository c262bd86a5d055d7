#include "sandbox/jail/folders/folder_walk.h"

#include "sandbox/base/directory.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/jail/folders/folder_parts.h"
#include "sandbox/jail/folders/folder_trail.h"
#include "sandbox/jail/folders/git_files.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define INCLUDES_MAX 10   /* as git */
#define BYTES_PER_NAME 64 /* of a file that is read, which counts as so many names */

/* Directories on the way stay in their places; a link and the end are protected, wherever they are. */
static int protect_place(void *data, const struct trail_place *place)
{
    struct folder_walk *walk = data;
    bool is_directory = place->role == TRAIL_DIRECTORY;
    if (folder_parts_cover(&walk->scans[place->folder], place->path) ||
        (is_directory && place->path[0] == '\0'))
        return 0;
    int r = walk_add_part(walk, place->folder, place->path, place->about,
                          is_directory ? CARE_PIN : CARE_PROTECT);
    return r == 0 && place->role == TRAIL_END ? walk_add_links(walk, place->about) : r;
}

/* Protects what a path leads to, from a directory with an absolute path. */
static int protect_target(struct folder_walk *walk, const char *directory, const char *target)
{
    size_t left = FOLDER_NAMES_MAX - walk->names;
    struct trail trail = {walk->folders, left, protect_place, walk};
    int r = folder_trail_follow(&trail, directory, target);
    walk->names = FOLDER_NAMES_MAX - trail.steps;
    return r > 0 ? walk_refuse_names(walk) : r;
}

/* Reads a file of git. *ret_text is owned, and NULL if git cannot read it either. */
static int read_git_file(struct folder_walk *walk, const char *path, char **ret_text)
{
    OWNED_MEMORY char *text = malloc(GIT_FILE_MAX);
    if (text == NULL)
        return walk_refuse_memory(walk);
    int length = git_file_read(path, text, GIT_FILE_MAX);
    if (length == -EFBIG)
        return fault_set(walk->fault, E2BIG,
                         "%s has more than %d bytes, too many for the mode rw, which reads it "
                         "before every run: use the mode overlay",
                         visible_name(path).text, GIT_FILE_MAX - 1);
    if (length < 0)
        return 0;
    size_t cost = (size_t)length / BYTES_PER_NAME;
    if (cost > FOLDER_NAMES_MAX - walk->names)
        return walk_refuse_names(walk);
    walk->names += cost;
    *ret_text = pointer_take(&text);
    return 0;
}

/* "~/" is the home directory, and "~NAME/" counts as it: it may be; else relative to the directory. */
static int join(char path[PATH_MAX], const char *directory, const char *value)
{
    const char *home = getenv("HOME");
    const char *slash = value[0] == '~' ? strchr(value, '/') : NULL;
    if (slash != NULL && home != NULL) {
        directory = home;
        value = slash + 1;
    }
    int length = snprintf(path, PATH_MAX, "%s%s%s", value[0] == '/' ? "" : directory,
                          value[0] == '/' ? "" : "/", value);
    return length < PATH_MAX ? 0 : -1;
}

static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    *(slash != NULL ? slash : path) = '\0';
}

/* `tree`: the directory that the path of hooks is relative to. */
static int protect_settings(struct folder_walk *walk, const char *path, const char *tree,
                            unsigned depth);

static int protect_included(struct folder_walk *walk, const char *path, const char *value,
                            const char *tree, unsigned depth)
{
    char directory[PATH_MAX];
    char included[PATH_MAX];
    snprintf(directory, sizeof(directory), "%s", path);
    cut_last(directory);
    if (depth == INCLUDES_MAX || join(included, directory, value) < 0)
        return 0;
    int r = protect_target(walk, "", included);
    return r < 0 ? r : protect_settings(walk, included, tree, depth + 1);
}

/* A directory, as of hooks, which may lie elsewhere, and what links in it lead to. */
static int protect_links_in(struct folder_walk *walk, const char *path)
{
    int r = protect_target(walk, "", path);
    OWNED(directory_release) DIR *directory = r == 0 ? directory_open(AT_FDCWD, path) : NULL;
    const struct dirent *entry;
    char place[PATH_MAX];
    while (r == 0 && (entry = directory_next(directory)) != NULL) {
        r = walk_count_name(walk); /* settings may name it thousands of times */
        if (r == 0 && (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) &&
            join(place, path, entry->d_name) == 0)
            r = protect_target(walk, "", place);
    }
    return r;
}

/* Hooks are relative to the tree. */
static int protect_hooks(struct folder_walk *walk, const char *tree, const char *hooks)
{
    char place[PATH_MAX];
    return join(place, tree, hooks) < 0 ? 0 : protect_links_in(walk, place);
}

/* Protects the files and directories with commands that settings of git name. */
static int protect_settings(struct folder_walk *walk, const char *path, const char *tree,
                            unsigned depth)
{
    OWNED_MEMORY char *text = NULL;
    char section[GIT_SECTION_SIZE] = "";
    char other_tree[PATH_MAX];
    const char *hooks = NULL;
    const char *worktree = NULL;
    enum git_setting setting;
    int r = read_git_file(walk, path, &text);
    char *at = text;
    char *value;
    while (r == 0 && at != NULL && (value = git_settings_next(&at, section, &setting)) != NULL) {
        if (setting == GIT_INCLUDE)
            r = protect_included(walk, path, value, tree, depth);
        else if (setting == GIT_WORKTREE)
            worktree = value;
        else
            r = protect_hooks(walk, tree, hooks = value);
    }
    if (r < 0 || hooks == NULL || worktree == NULL)
        return r;
    char directory[PATH_MAX];
    snprintf(directory, sizeof(directory), "%s", path);
    cut_last(directory);
    return join(other_tree, directory, worktree) < 0 ? 0 : protect_hooks(walk, other_tree, hooks);
}

/* Of a repository, which may lie elsewhere: where its settings and hooks lead to. */
static int protect_repository(struct folder_walk *walk, const char *gitdir, const char *tree)
{
    OWNED_MEMORY char *text = NULL;
    char path[PATH_MAX];
    char common[PATH_MAX];
    if (join(path, gitdir, "commondir") < 0)
        return 0;
    int r = read_git_file(walk, path, &text);
    const char *target = r == 0 && text != NULL ? git_file_commondir(text) : NULL;
    if (r < 0 || join(common, gitdir, target != NULL ? target : ".") < 0)
        return r;
    r = protect_target(walk, "", common);
    if (r == 0 && join(path, gitdir, "config.worktree") == 0)
        r = protect_settings(walk, path, tree, 0);
    if (r == 0 && join(path, common, "config") == 0)
        r = protect_settings(walk, path, tree, 0);
    return r == 0 && join(path, common, "hooks") == 0 ? protect_links_in(walk, path) : r;
}

/* Of a .git that is a file, or a link. */
static int follow_git_file(struct folder_walk *walk, const char *directory, const char *path)
{
    OWNED_MEMORY char *text = NULL;
    char gitdir[PATH_MAX];
    int r = read_git_file(walk, path, &text);
    const char *target = r == 0 && text != NULL ? git_file_gitdir(text) : NULL;
    if (r == 0 && target != NULL)
        r = protect_target(walk, directory, target);
    if (r < 0 || join(gitdir, directory, target != NULL ? target : ".git") < 0)
        return r;
    return protect_repository(walk, gitdir, directory);
}

/* Programs take their commands from a directory above the folder, too: what links there lead to. */
static int follow_names_in(struct folder_walk *walk, const char *above)
{
    char path[PATH_MAX];
    struct stat about;
    const char *name;
    int r = 0;
    for (size_t i = 0; r == 0 && (name = protected_names_at(i)) != NULL; i++) {
        if (strcmp(name, ".git") == 0 || join(path, above, name) < 0 || lstat(path, &about) < 0)
            continue;
        r = walk_add_links(walk, &about);
        if (r == 0)
            r = protect_links_in(walk, path);
    }
    return r;
}

int walk_follow_above(struct folder_walk *walk)
{
    char above[PATH_MAX];
    char path[PATH_MAX];
    snprintf(above, sizeof(above), "%s", walk_folder(walk)->path);
    int r = 0;
    while (r == 0 && above[0] != '\0') {
        cut_last(above);
        r = follow_names_in(walk, above);
        if (r < 0 || join(path, above, ".git") < 0 || access(path, F_OK) < 0)
            continue;
        r = protect_target(walk, above, ".git");
        if (r == 0)
            r = follow_git_file(walk, above, path);
    }
    return r;
}

int walk_follow_file(struct folder_walk *walk, const struct level *level, const char *name)
{
    char path[PATH_MAX];
    char directory[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", walk_folder(walk)->path, level->path) >=
        sizeof(path))
        return 0;
    snprintf(directory, sizeof(directory), "%s", path);
    cut_last(directory);
    if (strcasecmp(name, ".git") == 0)
        return follow_git_file(walk, directory, path);
    bool is_common = strcasecmp(name, "commondir") == 0;
    if (level->region != REGION_PROTECTED ||
        (!is_common && strcasecmp(name, "config") != 0 && strcasecmp(name, "config.worktree") != 0))
        return 0;
    char tree[PATH_MAX];
    snprintf(tree, sizeof(tree), "%s", directory);
    char *base = strrchr(tree, '/');
    if (base != NULL && strcasecmp(base, "/.git") == 0)
        *base = '\0';
    return is_common ? protect_repository(walk, directory, tree)
                     : protect_settings(walk, path, tree, 0);
}

int walk_follow_link(struct folder_walk *walk, const struct level *level, const char *name)
{
    char target[PATH_MAX];
    char directory[PATH_MAX];
    ssize_t length = readlinkat(level->fd, name, target, sizeof(target) - 1);
    if (length <= 0)
        return 0;
    target[length] = '\0';
    if ((size_t)snprintf(directory, sizeof(directory), "%s/%s", walk_folder(walk)->path,
                         level->path) >= sizeof(directory))
        return 0;
    cut_last(directory);
    return protect_target(walk, directory, target);
}

int walk_pin_above(struct folder_walk *walk, const char *path)
{
    char above[PATH_MAX];
    struct stat about;
    int r = 0;
    for (const char *slash = path; r == 0 && (slash = strchr(slash, '/')) != NULL; slash++) {
        snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
        if (fstatat(walk_folder(walk)->fd, above, &about, AT_SYMLINK_NOFOLLOW) == 0)
            r = walk_add_part(walk, walk->at, above, &about, CARE_PIN);
    }
    return r;
}
