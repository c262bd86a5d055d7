#include "interpreter/settings/path_walk.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* MAXSYMLINKS of the kernel */

struct path_walk {
    char real[PATH_MAX]; /* where it is, without links; "" is the root */
    char *rest; /* owned; what is still to be looked up, from `at` on */
    const char *at;
    unsigned links;
};

static void walk_release(struct path_walk *walk)
{
    free(walk->rest);
}

static int begin(struct path_walk *walk, const char *path)
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(here, sizeof(here)) == NULL)
        return -errno;
    if (asprintf(&walk->rest, "%s/%s", here, path) < 0) {
        walk->rest = NULL;
        return -ENOMEM;
    }
    walk->at = walk->rest;
    return 0;
}

/* Goes on to what the link leads to, from the directory whose path has that length. */
static int follow(struct path_walk *walk, size_t directory, const char *target)
{
    char *rest;
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    if (asprintf(&rest, "%s/%s", target, walk->at) < 0)
        return -ENOMEM;
    free(walk->rest);
    walk->rest = rest;
    walk->at = rest;
    walk->real[target[0] == '/' ? 0 : directory] = '\0';
    return 0;
}

static int look_up(struct path_walk *walk, const char *name, size_t length)
{
    char target[PATH_MAX];
    size_t directory = strlen(walk->real);
    if (directory + 1 + length >= sizeof(walk->real))
        return -ENAMETOOLONG;
    sprintf(walk->real + directory, "/%.*s", (int)length, name);
    ssize_t got = readlink(walk->real, target, sizeof(target) - 1);
    if (got < 0)
        return errno == EINVAL ? 0 : -errno; /* EINVAL: it is there, and no link */
    target[got] = '\0';
    return follow(walk, directory, target);
}

static void go_up(struct path_walk *walk)
{
    char *slash = strrchr(walk->real, '/');
    if (slash != NULL)
        *slash = '\0';
}

static const char *where(const struct path_walk *walk)
{
    return walk->real[0] != '\0' ? walk->real : "/";
}

/* Whether the kernel, too, gets no further. */
static bool is_dead_end(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP;
}

int path_walk(const char *path, path_visit *visit, void *data)
{
    OWNED(walk_release) struct path_walk walk = {.at = ""};
    int r = begin(&walk, path);
    while (r == 0 && *(walk.at += strspn(walk.at, "/")) != '\0') {
        const char *name = walk.at;
        size_t length = strcspn(name, "/");
        walk.at += length;
        /* These two are not entries that anybody could replace. */
        if (length == 1 && name[0] == '.')
            continue;
        if (length == 2 && memcmp(name, "..", 2) == 0) {
            go_up(&walk);
            continue;
        }
        r = visit(data, where(&walk), false);
        if (r != 0)
            return r;
        r = look_up(&walk, name, length);
    }
    if (is_dead_end(r))
        return 0;
    return r < 0 ? r : visit(data, where(&walk), true);
}
