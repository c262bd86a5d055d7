#include "interpreter/changes/walk.h"

#include "interpreter/changes/budget.h"
#include "interpreter/changes/entry.h"
#include "interpreter/changes/git_name.h"
#include "interpreter/changes/ignore.h"
#include "interpreter/changes/names.h"
#include "interpreter/changes/tracked.h"
#include "sandbox/base/owned.h"

#include <string.h>

#define PERMISSIONS 07777 /* of st_mode: inode(7) */

struct change_walk {
    const struct walk_spec *spec;
    struct change_list *changes;
    struct buffer path; /* of the entry at hand; NUL-terminated, the NUL not counted */
    size_t depth;
    size_t names_left;
    struct ignore ignore;   /* of the directories on the way to the path */
    struct tracked tracked; /* by git */
    size_t ignored_count;   /* entries that were left out by it */
    struct budget budget;
    bool is_over;     /* something was told that ends the walk */
};

/* A directory on both sides; -1: there is none. */
struct pair {
    int upper_fd, host_fd;
    bool hides; /* the upper one hides the entries of the host's that it has not got itself */
    bool is_changed; /* others added to the host's or removed from it after the snippet began */
    bool is_ignored; /* as a whole, tracked files aside */
};

/* An entry on both sides. */
struct couple {
    const char *name;
    struct entry upper, host;
};

static bool walk_directory(struct change_walk *walk, const struct pair *pair);

static void leave_out(struct change_walk *walk, enum left_out_reason reason)
{
    change_list_leave_out(walk->changes, walk->path.data, reason, 0);
}

/* The same for a directory: its path ends with '/'. */
static void leave_out_directory(struct change_walk *walk, enum left_out_reason reason, size_t count)
{
    OWNED(buffer_release) struct buffer path = BUFFER(CHANGES_PATH_SIZE + 1);
    if (buffer_append(&path, walk->path.data, walk->path.length) < 0 ||
        (path.length > 0 && buffer_append(&path, "/", 1) < 0))
        return;
    const char *text = buffer_string(&path);
    if (text != NULL)
        change_list_leave_out(walk->changes, text, reason, count);
}

static void end_walk(struct change_walk *walk, enum left_out_reason reason)
{
    if (!walk->is_over)
        leave_out_directory(walk, reason, 0);
    walk->is_over = true;
}

/* Others changed the folder's entry after the snippet began. */
static bool is_later(const struct change_walk *walk, const struct entry *entry)
{
    const struct timespec *changed = &entry->about.st_ctim;
    const struct timespec *since = &walk->spec->since;
    return changed->tv_sec != since->tv_sec ? changed->tv_sec > since->tv_sec
                                            : changed->tv_nsec >= since->tv_nsec;
}

static bool is_content(enum entry_kind kind)
{
    return kind == ENTRY_FILE || kind == ENTRY_LINK;
}

static enum left_out_reason reason_of_upper(int error)
{
    return error == -EFBIG ? LEFT_TOO_LARGE : error == -ENOMEM ? LEFT_MEMORY : LEFT_UNREADABLE;
}

static enum left_out_reason reason_of_host(int error)
{
    switch (error) {
    case -EFBIG:
        return LEFT_TOO_LARGE;
    case -ENOMEM:
        return LEFT_MEMORY;
    case -EAGAIN:
        return LEFT_CHANGED_ON_HOST;
    case -EXDEV:
        return LEFT_OTHER_FILE_SYSTEM;
    default:
        return LEFT_HOST_UNREADABLE;
    }
}

/* Takes over both versions. One refused name would make git refuse the whole patch. */
static void add_change(struct change_walk *walk, struct file_version *old, struct file_version *new)
{
    bool is_link = old->mode == MODE_LINK || new->mode == MODE_LINK;
    if (!is_link || !git_path_has_modules(walk->path.data)) {
        change_list_add(walk->changes, walk->path.data, old, new);
        return;
    }
    version_release(old);
    version_release(new);
    leave_out(walk, LEFT_NAME);
}

/* Removes the folder's file, unless others changed it meanwhile. */
static void remove_file(struct change_walk *walk, const struct pair *pair,
                        const struct couple *couple)
{
    OWNED(version_release) struct file_version old = VERSION_ABSENT;
    struct file_version none = VERSION_ABSENT;
    int r = is_later(walk, &couple->host)
                ? -EAGAIN
                : entry_read(pair->host_fd, couple->name, &couple->host, &old);
    if (r < 0)
        leave_out(walk, reason_of_host(r));
    else
        add_change(walk, &old, &none);
}

static size_t left_out_count(const struct change_walk *walk)
{
    return walk->changes->left_out_count + walk->changes->left_out_more + walk->ignored_count;
}

/* Whether rules of .gitignore have the entry at hand, or a directory that it is in. */
static bool is_ignored(const struct change_walk *walk, const struct pair *pair,
                       enum entry_kind kind)
{
    return pair->is_ignored || ignore_has(&walk->ignore, walk->path.data, kind == ENTRY_DIRECTORY);
}

/* Removes everything in a directory of the folder. False: there was nothing. */
static bool remove_tree(struct change_walk *walk, const struct pair *pair, const char *name)
{
    OWNED_FD int fd = entry_open_directory(pair->host_fd, name);
    if (fd < 0) {
        leave_out_directory(walk, reason_of_host(fd), 0);
        return true;
    }
    const struct pair below = {.upper_fd = -1,
                               .host_fd = fd,
                               .hides = true,
                               .is_ignored = is_ignored(walk, pair, ENTRY_DIRECTORY)};
    size_t told = walk->changes->count + left_out_count(walk);
    (void)walk_directory(walk, &below);
    return walk->changes->count + left_out_count(walk) > told;
}

/* Whatever the folder has in this place is gone. */
static void remove_entry(struct change_walk *walk, const struct pair *pair,
                         const struct couple *couple)
{
    if (couple->host.kind == ENTRY_DIRECTORY) {
        if (!remove_tree(walk, pair, couple->name))
            leave_out_directory(walk, LEFT_EMPTY_DIRECTORY, 0);
    } else if (is_content(couple->host.kind)) {
        remove_file(walk, pair, couple);
    } else {
        leave_out(walk, couple->host.kind == ENTRY_NONE ? LEFT_REMOVED_ON_HOST : LEFT_HOST_SPECIAL);
    }
}

/*
 * The same where something else takes the place. False: part of it stays on the host, so that git could
 * not put anything there. A directory that is empty then is no obstacle.
 */
static bool make_way(struct change_walk *walk, const struct pair *pair, const struct couple *couple)
{
    size_t left_out = left_out_count(walk);
    if (couple->host.kind == ENTRY_DIRECTORY)
        (void)remove_tree(walk, pair, couple->name);
    else if (couple->host.kind != ENTRY_NONE)
        remove_entry(walk, pair, couple);
    return left_out_count(walk) == left_out;
}

/* Bits other than those that `new` and `old` tell git. */
static void compare_modes(struct change_walk *walk, const struct couple *couple)
{
    mode_t upper = couple->upper.about.st_mode & PERMISSIONS;
    mode_t host = couple->host.about.st_mode & PERMISSIONS;
    if (couple->upper.kind == ENTRY_FILE && couple->host.kind == ENTRY_FILE &&
        (upper & ~(mode_t)0111) != (host & ~(mode_t)0111))
        leave_out(walk, LEFT_MODE);
}

/* Large files are not compared: a copy that was never written still has its times. */
static bool is_untouched_copy(const struct couple *couple)
{
    const struct stat *upper = &couple->upper.about;
    const struct stat *host = &couple->host.about;
    return couple->upper.kind == couple->host.kind && upper->st_size == host->st_size &&
           upper->st_mode == host->st_mode && upper->st_mtim.tv_sec == host->st_mtim.tv_sec &&
           upper->st_mtim.tv_nsec == host->st_mtim.tv_nsec;
}

/* A file or link of the upper layer, where the folder has one, too. */
static void compare_files(struct change_walk *walk, const struct pair *pair,
                          const struct couple *couple, struct file_version *new)
{
    OWNED(version_release) struct file_version old = VERSION_ABSENT;
    int r = entry_read(pair->host_fd, couple->name, &couple->host, &old);
    bool is_same = r == 0 && version_same_content(&old, new);
    bool is_late = is_later(walk, &couple->host);
    if (is_same && (is_late || old.mode == new->mode)) {
        if (!is_late)
            compare_modes(walk, couple);
    } else if (r < 0 || is_late) {
        leave_out(walk, is_late ? LEFT_CHANGED_ON_HOST : reason_of_host(r));
    } else {
        compare_modes(walk, couple);
        add_change(walk, &old, new);
    }
}

static void add_file(struct change_walk *walk, const struct pair *pair, const struct couple *couple,
                     struct file_version *new)
{
    struct file_version none = VERSION_ABSENT;
    /* A copy without its original: the snippet moved it here, or others removed the original. */
    if (pair->is_changed && couple->upper.kind == ENTRY_FILE && couple->host.kind == ENTRY_NONE &&
        entry_is_copy(pair->upper_fd, couple->name)) {
        leave_out(walk, LEFT_REMOVED_ON_HOST);
        return;
    }
    if (couple->upper.kind == ENTRY_FILE &&
        (couple->upper.about.st_mode & (S_ISUID | S_ISGID | S_ISVTX)))
        leave_out(walk, LEFT_MODE);
    add_change(walk, &none, new);
}

static void take_file(struct change_walk *walk, const struct pair *pair,
                      const struct couple *couple)
{
    OWNED(version_release) struct file_version new = VERSION_ABSENT;
    int r = entry_is_readable(&couple->upper)
                ? entry_read(pair->upper_fd, couple->name, &couple->upper, &new)
                : -EACCES;
    if (r == -EFBIG && is_untouched_copy(couple))
        return;
    if (r < 0)
        leave_out(walk, reason_of_upper(r));
    else if (is_content(couple->host.kind))
        compare_files(walk, pair, couple, &new);
    else if (couple->host.kind == ENTRY_NONE || couple->host.kind == ENTRY_DIRECTORY)
        add_file(walk, pair, couple, &new);
    else
        leave_out(walk, LEFT_HOST_SPECIAL);
}

/* Whether the directory, which lost entries, still has some of the host's. */
static bool has_visible(struct change_walk *walk, const struct pair *pair)
{
    OWNED(names_release) struct names names = {0};
    if (pair->host_fd < 0 || pair->hides ||
        names_read(&names, pair->host_fd, walk->names_left) != 0)
        return false;
    walk->names_left -= names.count;
    for (size_t i = 0; i < names.count; i++) {
        if (entry_look(pair->upper_fd, names.list[i]).kind == ENTRY_NONE)
            return true;
    }
    return false;
}

static void take_directory(struct change_walk *walk, const struct pair *pair,
                           const struct couple *couple)
{
    bool has_host = couple->host.kind == ENTRY_DIRECTORY;
    OWNED_FD int upper_fd = entry_is_readable(&couple->upper)
                                ? entry_open_directory(pair->upper_fd, couple->name)
                                : -EACCES;
    OWNED_FD int host_fd = has_host ? entry_open_directory(pair->host_fd, couple->name) : -1;
    if (upper_fd < 0 || (has_host && host_fd < 0)) {
        leave_out_directory(walk,
                            upper_fd < 0 ? reason_of_upper(upper_fd) : reason_of_host(host_fd), 0);
        return;
    }
    if (!has_host && !make_way(walk, pair, couple)) {
        leave_out_directory(walk, LEFT_IN_THE_WAY, 0);
        return;
    }
    const struct pair below = {
        .upper_fd = upper_fd,
        .host_fd = host_fd,
        .hides = pair->hides || entry_is_opaque(upper_fd),
        /* The snippet cannot move a directory of the host. */
        .is_changed =
            has_host ? is_later(walk, &couple->host) : entry_is_copy(pair->upper_fd, couple->name),
        .is_ignored = is_ignored(walk, pair, ENTRY_DIRECTORY),
    };
    bool is_new = !has_host || below.hides;
    if (has_host && !is_later(walk, &couple->host) &&
        ((couple->upper.about.st_mode ^ couple->host.about.st_mode) & PERMISSIONS) != 0)
        leave_out_directory(walk, LEFT_DIRECTORY_MODE, 0);
    size_t changes = walk->changes->count;
    bool has_files = walk_directory(walk, &below);
    bool is_touched = walk->changes->count > changes || is_new;
    if (is_touched && !has_files && !walk->is_over && !has_visible(walk, &below))
        leave_out_directory(walk, LEFT_EMPTY_DIRECTORY, 0);
}

static void take_entry(struct change_walk *walk, const struct pair *pair,
                       const struct couple *couple)
{
    switch (couple->upper.kind) {
    case ENTRY_NONE:
    case ENTRY_WHITEOUT:
        remove_entry(walk, pair, couple);
        break;
    case ENTRY_DIRECTORY:
        take_directory(walk, pair, couple);
        break;
    case ENTRY_FILE:
    case ENTRY_LINK:
        if (couple->host.kind != ENTRY_DIRECTORY || make_way(walk, pair, couple))
            take_file(walk, pair, couple);
        else
            leave_out(walk, LEFT_IN_THE_WAY);
        break;
    case ENTRY_SOCKET:
        leave_out(walk, LEFT_SOCKET);
        break;
    case ENTRY_FIFO:
        leave_out(walk, LEFT_FIFO);
        break;
    case ENTRY_DEVICE:
        leave_out(walk, LEFT_DEVICE);
        break;
    }
}

/* The entries of the upper layer below one of git's own directories. */
static size_t count_entries(struct change_walk *walk, int directory_fd, const char *name)
{
    OWNED(names_release) struct names names = {0};
    OWNED_FD int fd = entry_open_directory(directory_fd, name);
    size_t count = 0;
    if (fd < 0)
        return 1;
    if (walk->depth == CHANGES_DEPTH_MAX || names_read(&names, fd, walk->names_left) != 0)
        return 0;
    walk->names_left -= names.count;
    walk->depth++;
    for (size_t i = 0; i < names.count; i++)
        count += count_entries(walk, fd, names.list[i]);
    walk->depth--;
    return count;
}

static void take_git(struct change_walk *walk, const struct pair *pair, const struct couple *couple)
{
    int fd = couple->upper.kind != ENTRY_NONE ? pair->upper_fd : pair->host_fd;
    size_t count = count_entries(walk, fd, couple->name);
    bool is_directory = couple->upper.kind == ENTRY_DIRECTORY ||
                        (couple->upper.kind == ENTRY_NONE && couple->host.kind == ENTRY_DIRECTORY);
    if (is_directory && count > 0)
        leave_out_directory(walk, LEFT_GIT, count);
    else if (!is_directory)
        change_list_leave_out(walk->changes, walk->path.data, LEFT_GIT, count);
}

/*
 * Whether nobody wants to see what became of the entry. What the host has already may be a file that is tracked
 * although a rule has it: that takes git's index to know.
 */
static bool is_unwanted(const struct change_walk *walk, const struct pair *pair,
                        const struct couple *couple)
{
    bool is_new = couple->host.kind == ENTRY_NONE;
    enum entry_kind kind = is_new ? couple->upper.kind : couple->host.kind;
    if (kind == ENTRY_NONE || kind == ENTRY_WHITEOUT || !is_ignored(walk, pair, kind))
        return false;
    if (is_new)
        return true;
    return kind != ENTRY_DIRECTORY && couple->upper.kind != ENTRY_DIRECTORY &&
           walk->tracked.is_known && !tracked_has(&walk->tracked, walk->path.data);
}

static void pass_over(struct change_walk *walk, const struct pair *pair,
                      const struct couple *couple)
{
    bool is_directory = couple->upper.kind == ENTRY_DIRECTORY;
    walk->ignored_count += is_directory ? count_entries(walk, pair->upper_fd, couple->name) : 1;
}

/* Appends a name to the path. The length before, for leave(); or SIZE_MAX: it is too long. */
static size_t enter(struct change_walk *walk, const char *name)
{
    size_t before = walk->path.length;
    bool fits = (before == 0 || buffer_append(&walk->path, "/", 1) == 0) &&
                buffer_append_text(&walk->path, name) == 0 && buffer_string(&walk->path) != NULL;
    if (fits)
        return before;
    walk->path.length = before;
    walk->path.data[before] = '\0';
    return SIZE_MAX;
}

static void leave(struct change_walk *walk, size_t before)
{
    walk->path.length = before;
    walk->path.data[before] = '\0';
}

/* Whether the entry is one of the overlay's, directories without files aside. */
static bool walk_entry(struct change_walk *walk, const struct pair *pair, const char *name)
{
    const struct couple couple = {name, entry_look(pair->upper_fd, name),
                                  entry_look(pair->host_fd, name)};
    size_t before = enter(walk, name);
    if (before == SIZE_MAX) {
        leave_out_directory(walk, LEFT_TOO_DEEP, 0);
        return true;
    }
    if (git_name_is_git(name))
        take_git(walk, pair, &couple);
    else if (is_unwanted(walk, pair, &couple))
        pass_over(walk, pair, &couple);
    else
        take_entry(walk, pair, &couple);
    leave(walk, before);
    return couple.upper.kind != ENTRY_NONE && couple.upper.kind != ENTRY_WHITEOUT;
}

static int read_names(const struct change_walk *walk, const struct pair *pair, struct names *names)
{
    int r = 0;
    if (pair->upper_fd >= 0)
        r = names_read(names, pair->upper_fd, walk->names_left);
    if (r == 0 && pair->host_fd >= 0 && pair->hides)
        r = names_read(names, pair->host_fd, walk->names_left);
    names_sort(names);
    return r;
}

/* Whether there are entries of the upper layer in it. */
static bool walk_directory(struct change_walk *walk, const struct pair *pair)
{
    OWNED(names_release) struct names names = {0};
    if (walk->is_over)
        return true;
    if (walk->depth == CHANGES_DEPTH_MAX) {
        leave_out_directory(walk, LEFT_TOO_DEEP, 0);
        return true;
    }
    size_t rules = walk->ignore.count;
    size_t base = walk->path.length + (walk->path.length > 0);
    int r = ignore_add_file(&walk->ignore, base, pair->host_fd);
    if (r == 0)
        r = read_names(walk, pair, &names);
    walk->names_left -= names.count < walk->names_left ? names.count : walk->names_left;
    bool has_entries = false;
    walk->depth++;
    for (size_t i = 0; i < names.count && !walk->is_over; i++) {
        has_entries |= walk_entry(walk, pair, names.list[i]);
        if (budget_is_spent(&walk->budget))
            end_walk(walk, LEFT_TIME);
    }
    walk->depth--;
    ignore_drop(&walk->ignore, rules);
    if (r != 0)
        end_walk(walk, r == -E2BIG ? LEFT_NAMES : LEFT_MEMORY);
    return has_entries;
}

static void walk_root(struct change_walk *walk, int upper_fd, int host_fd)
{
    tracked_read_index(&walk->tracked, host_fd);
    const struct entry host = entry_look(host_fd, ".");
    const struct pair pair = {
        .upper_fd = upper_fd,
        .host_fd = host_fd,
        .hides = entry_is_opaque(upper_fd),
        .is_changed = is_later(walk, &host),
    };
    (void)walk_directory(walk, &pair);
}

void walk_changes(const struct walk_spec *spec, struct change_list *changes)
{
    struct change_walk walk = {
        .spec = spec,
        .changes = changes,
        .path = BUFFER(CHANGES_PATH_SIZE),
        .names_left = CHANGES_NAMES_MAX,
        .budget = budget_begin(),
    };
    OWNED_FD int upper_fd = entry_open_directory(spec->upper_fd, ".");
    OWNED_FD int host_fd = entry_open_directory(spec->host_fd, ".");
    if (buffer_string(&walk.path) == NULL)
        change_list_leave_out(changes, "", LEFT_MEMORY, 0);
    else if (upper_fd < 0 || host_fd < 0)
        change_list_leave_out(changes, "", upper_fd < 0 ? LEFT_UNREADABLE : LEFT_HOST_UNREADABLE,
                              0);
    else
        walk_root(&walk, upper_fd, host_fd);
    if (walk.ignored_count > 0)
        change_list_leave_out(changes, ".gitignore", LEFT_IGNORED, walk.ignored_count);
    ignore_drop(&walk.ignore, 0);
    tracked_release(&walk.tracked);
    buffer_release(&walk.path);
}
