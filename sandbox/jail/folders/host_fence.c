#include "sandbox/jail/folders/host_fence.h"

#include "sandbox/base/owned.h"

#include <string.h>

#define CHOOSE "choose the folder that is needed, below it"

bool path_is_below(const char *path, const char *above)
{
    size_t length = strlen(above);
    if (length == 1) /* "/" */
        return true;
    return strncmp(path, above, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool stop(struct host_fence *ret_fence, const char *reason, const char *remedy)
{
    *ret_fence = (struct host_fence){reason, remedy};
    return true;
}

bool host_fence_stops(const char *path, const char *home, struct host_fence *ret_fence)
{
    static const char *const below[] = {"/proc", "/sys", "/dev", "/run", "/boot", "/etc"};
    static const char *const alone[] = {"/usr", "/var", "/tmp",  "/home",  "/root", "/opt",  "/srv",
                                        "/mnt", "/bin", "/sbin", "/media", "/lib",  "/lib64"};
    if (strcmp(path, "/") == 0)
        return stop(ret_fence, "it is the whole file system", CHOOSE);
    for (size_t i = 0; i < ARRAY_LENGTH(below); i++)
        if (path_is_below(path, below[i]))
            return stop(ret_fence, "it belongs to the system", "copy what is needed elsewhere");
    for (size_t i = 0; i < ARRAY_LENGTH(alone); i++)
        if (strcmp(path, alone[i]) == 0)
            return stop(ret_fence, "it belongs to the system", CHOOSE);
    if (home != NULL && path_is_below(home, path))
        return stop(ret_fence,
                    strcmp(home, path) == 0
                        ? "it is your home directory, with keys and settings of other programs"
                        : "your home directory is in it",
                    "choose a folder below your home directory");
    return false;
}
