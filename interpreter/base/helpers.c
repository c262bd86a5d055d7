#include "interpreter/base/helpers.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct helper helpers[] = {
    {IMAGE_PROGRAM, IMAGE_FOLDER},
    {CHANGES_PROGRAM, CHANGES_FOLDER},
    {FLEET_PROGRAM, FLEET_FOLDER},
    {HTTP_PROGRAM, HTTP_FOLDER},
    {NETWORK_PROGRAM, NETWORK_FOLDER},
    {SCOPE_PROGRAM, SCOPE_FOLDER},
    {0},
};

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

int helpers_place(const struct helper *helper, unsigned number, char **ret_path)
{
    char self[PATH_MAX];
    int r = own_directory(self);
    if (r < 0)
        return r;
    switch (number) {
    case 0:
        r = asprintf(ret_path, "%s%s/%s", LIBEXEC_DIRECTORY[0] == '/' ? "" : self,
                     LIBEXEC_DIRECTORY, helper->name);
        break;
    case 1: /* a program of that directory looks for its neighbours */
        r = asprintf(ret_path, "%s%s", self, helper->name);
        break;
    case 2:
        r = asprintf(ret_path, "%s../%s/%s", self, helper->folder, helper->name);
        break;
    default:
        return -ENOENT;
    }
    return r < 0 ? -ENOMEM : 0;
}

int helpers_find(const char *name, const char *folder, char **ret_path)
{
    const struct helper helper = {name, folder};
    char *path;
    int r;
    for (unsigned i = 0; (r = helpers_place(&helper, i, &path)) == 0; i++) {
        if (access(path, X_OK) == 0) {
            *ret_path = path;
            return 0;
        }
        free(path);
    }
    return r;
}
