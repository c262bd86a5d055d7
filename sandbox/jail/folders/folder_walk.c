#include "sandbox/jail/folders/folder_walk.h"

#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

const struct folder *walk_folder(const struct folder_walk *walk)
{
    return &walk->folders->list[walk->at];
}

int walk_refuse(const struct folder_walk *walk, const char *what, int limit)
{
    return fault_set(walk->fault, E2BIG,
                     "%s has more than %d %s, too many for the mode rw, which looks at each before "
                     "every run: mount a smaller folder, or use the mode overlay",
                     walk_folder(walk)->path, limit, what);
}

int walk_refuse_names(const struct folder_walk *walk)
{
    return walk_refuse(walk, "names", FOLDER_NAMES_MAX);
}

int walk_count_name(struct folder_walk *walk)
{
    if (walk->names >= FOLDER_NAMES_MAX)
        return walk_refuse_names(walk);
    walk->names++;
    return 0;
}

int walk_refuse_memory(const struct folder_walk *walk)
{
    return fault_set(walk->fault, ENOMEM, "out of memory for a folder");
}

int walk_refuse_to_read(const struct folder_walk *walk, int error, const char *path)
{
    OWNED(buffer_release) struct buffer text = BUFFER(4 * PATH_MAX);
    const char *shown =
        visible_append(&text, path, strlen(path)) == 0 ? buffer_string(&text) : NULL;
    return fault_set(walk->fault, error,
                     "cannot look at %s/%s, which the mode rw does before every run: %s",
                     walk_folder(walk)->path, shown != NULL ? shown : "", strerror(error));
}

/* As in struct folder_part. 0 or a negative errno. */
static int unchanged_since(int folder_fd, const char *path, const struct stat *about,
                           struct timespec *ret_since)
{
    struct statx more;
    *ret_since = about->st_ctim;
    if (!S_ISDIR(about->st_mode))
        return 0;
    if (statx(folder_fd, path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BTIME, &more) < 0)
        return -errno;
    bool is_known = (more.stx_mask & STATX_BTIME) != 0;
    *ret_since = is_known ? (struct timespec){more.stx_btime.tv_sec, more.stx_btime.tv_nsec}
                          : (struct timespec){0};
    return 0;
}

int walk_add_part(struct folder_walk *walk, size_t folder, const char *path,
                  const struct stat *about, enum folder_care care)
{
    struct timespec since;
    int r = unchanged_since(walk->folders->list[folder].fd, path, about, &since);
    if (r < 0)
        return walk_refuse_to_read(walk, -r, path);
    r = folder_parts_add(&walk->scans[folder], path, about, &since, care);
    return r > 0   ? walk_refuse(walk, "protected files, sockets and named pipes", FOLDER_PARTS_MAX)
           : r < 0 ? walk_refuse_memory(walk)
                   : 0;
}

int walk_add_links(struct folder_walk *walk, const struct stat *about)
{
    if (!S_ISREG(about->st_mode) || about->st_nlink == 1)
        return 0;
    return file_links_add(&walk->links, about) < 0 ? walk_refuse_memory(walk) : 0;
}
