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

int helpers_find(const char *name, const char *folder, char **ret_path)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", LIBEXEC_DIRECTORY, name) < 0)
        return -ENOMEM;
    if (take_if_there(path, ret_path) == 0)
        return 0;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return -errno;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    if (asprintf(&path, "%s/../%s/%s", self, folder, name) < 0)
        return -ENOMEM;
    return take_if_there(path, ret_path);
}
