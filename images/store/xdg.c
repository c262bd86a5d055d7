#include "images/store/xdg.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *absolute(const char *path)
{
    return path != NULL && path[0] == '/' ? path : NULL;
}

const char *xdg_home(void)
{
    const char *home = absolute(getenv("HOME"));
    if (home != NULL)
        return home;
    const struct passwd *entry = getpwuid(getuid());
    return entry != NULL ? absolute(entry->pw_dir) : NULL;
}

int xdg_directory(const char *variable, const char *fallback, char **ret_path)
{
    const char *named = absolute(getenv(variable));
    const char *home = named == NULL ? xdg_home() : NULL;
    if (named == NULL && home == NULL)
        return -ENOENT;
    char *path = named != NULL ? strdup(named) : NULL;
    if (named == NULL && asprintf(&path, "%s/%s", home, fallback) < 0)
        path = NULL;
    if (path == NULL)
        return -ENOMEM;
    *ret_path = path;
    return 0;
}
