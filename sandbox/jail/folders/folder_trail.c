#include "sandbox/jail/folders/folder_trail.h"

#include "sandbox/jail/folders/host_fence.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel */

/* The place reached: absolute, without links, "" for the root; and what is still to be followed. */
struct way {
    struct trail *trail;
    char at[PATH_MAX];
    char rest[PATH_MAX];
    unsigned links;
};

static int tell(const struct way *way, enum trail_role role, const struct stat *about)
{
    const struct folders *folders = way->trail->folders;
    int r = 0;
    for (size_t i = 0; r == 0 && i < folders->count; i++) {
        const struct folder *folder = &folders->list[i];
        if (folder->mode != FOLDER_WRITABLE)
            continue;
        struct trail_place place = {role, i, "", about};
        size_t length = strlen(folder->path);
        if (path_is_below(way->at, folder->path))
            place.path = way->at + length + (way->at[length] == '/');
        else if (role != TRAIL_END || !path_is_below(folder->path, way->at[0] ? way->at : "/"))
            continue;
        r = way->trail->pass(way->trail->data, &place);
    }
    return r;
}

static void go_up(struct way *way)
{
    char *slash = strrchr(way->at, '/');
    if (slash != NULL)
        *slash = '\0';
}

/* A folder that is mounted elsewhere on the host, too, is still that folder. */
static void recognize(struct way *way, const struct stat *about)
{
    const struct folders *folders = way->trail->folders;
    for (size_t i = 0; i < folders->count; i++)
        if (folders->list[i].device == about->st_dev && folders->list[i].inode == about->st_ino)
            snprintf(way->at, sizeof(way->at), "%s", folders->list[i].path);
}

/* The link takes its own place in the rest. False: the whole would be too long, or never end. */
static bool take_link(struct way *way)
{
    char target[PATH_MAX];
    ssize_t length = readlink(way->at, target, sizeof(target) - 1);
    if (length <= 0 || way->links++ == LINKS_MAX)
        return false;
    target[length] = '\0';
    size_t left = strlen(way->rest);
    if ((size_t)length + 1 + left >= sizeof(way->rest))
        return false;
    memmove(way->rest + length + 1, way->rest, left + 1);
    memcpy(way->rest, target, (size_t)length);
    way->rest[length] = '/';
    if (target[0] == '/')
        way->at[0] = '\0';
    else
        go_up(way);
    return true;
}

/* Takes the next part off the rest. False: there is none, or it does not fit. */
static bool enter(struct way *way)
{
    char *part = way->rest + strspn(way->rest, "/");
    size_t length = strcspn(part, "/");
    size_t before = strlen(way->at);
    if (length == 0 || before + 1 + length >= sizeof(way->at))
        return false;
    if (length == 2 && memcmp(part, "..", 2) == 0) {
        go_up(way);
    } else if (length != 1 || part[0] != '.') {
        way->at[before] = '/';
        memcpy(way->at + before + 1, part, length);
        way->at[before + 1 + length] = '\0';
    }
    memmove(way->rest, part + length, strlen(part + length) + 1);
    return true;
}

static bool is_end(const struct way *way)
{
    return way->rest[strspn(way->rest, "/")] == '\0';
}

/* Takes the next part. 0; 1: it cannot be followed; or what `pass` returned. */
static int step(struct way *way)
{
    struct stat about;
    if (!enter(way) || lstat(way->at[0] ? way->at : "/", &about) < 0)
        return 1;
    if (S_ISLNK(about.st_mode)) {
        int r = tell(way, TRAIL_LINK, &about);
        return r == 0 && !take_link(way) ? 1 : r;
    }
    if (S_ISDIR(about.st_mode))
        recognize(way, &about);
    if (is_end(way))
        return 0;
    return S_ISDIR(about.st_mode) ? tell(way, TRAIL_DIRECTORY, &about) : 1;
}

static int walk(struct way *way)
{
    struct stat about;
    while (!is_end(way)) {
        if (way->trail->steps == 0)
            return 1;
        way->trail->steps--;
        int r = step(way);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (lstat(way->at[0] ? way->at : "/", &about) < 0 || S_ISLNK(about.st_mode))
        return 0;
    return tell(way, TRAIL_END, &about);
}

int folder_trail_follow(struct trail *trail, const char *directory, const char *target)
{
    struct way way = {.trail = trail};
    size_t length = strlen(directory);
    size_t left = strlen(target);
    if (length >= sizeof(way.at) || left == 0 || left >= sizeof(way.rest))
        return 0; /* the kernel refuses it, too */
    if (target[0] != '/')
        memcpy(way.at, directory, length + 1);
    memcpy(way.rest, target, left + 1);
    return walk(&way);
}
