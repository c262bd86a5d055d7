#include "mcp/base/helpers.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Accepts the path if it is executable. */
static int take_if_there(char *path, char **ret_path)
{
    if (access(path, X_OK) < 0) {
        free(path);
        return -ENOENT;
    }
    *ret_path = path;
    return 0;
}

static int find_in(const char *parent, const char *directory, const char *name, char **ret_path)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s%s%s", parent, directory, directory[0] != '\0' ? "/" : "", name) < 0)
        return -ENOMEM;
    return take_if_there(path, ret_path);
}

/* The directory of this program, with a slash. */
static int own_directory(char ret_directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", ret_directory, PATH_MAX - 1);
    if (length < 0)
        return -errno;
    ret_directory[length] = '\0';
    char *slash = strrchr(ret_directory, '/');
    if (slash != NULL)
        slash[1] = '\0';
    return 0;
}

int helpers_find(const char *name, const char *folder, char **ret_path)
{
    char self[PATH_MAX], built[PATH_MAX];
    int r = own_directory(self);
    if (r < 0)
        return r;
    r = find_in(LIBEXEC_DIRECTORY[0] == '/' ? "" : self, LIBEXEC_DIRECTORY, name, ret_path);
    if (r != -ENOENT)
        return r;
    /* A program of that directory looks for its neighbours. */
    r = find_in(self, "", name, ret_path);
    if (r != -ENOENT)
        return r;
    snprintf(built, sizeof(built), "../%s", folder);
    return find_in(self, built, name, ret_path);
}
