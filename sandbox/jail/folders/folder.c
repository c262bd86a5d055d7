#include "sandbox/jail/folders/folder.h"

#include "sandbox/base/open_resolved.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/run_paths.h"
#include "sandbox/jail/folders/git_files.h"
#include "sandbox/jail/folders/host_fence.h"
#include "sandbox/jail/folders/protected_names.h"
#include "sandbox/limits/limits.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define ANOTHER_PLACE "give the folder another place in the sandbox with --mount FOLDER@/PATH"

void folders_release(struct folders *folders)
{
    for (size_t i = 0; i < folders->count; i++) {
        free(folders->list[i].path);
        free(folders->list[i].place);
        fd_close(&folders->list[i].fd);
    }
    for (size_t i = 0; i < folders->own_count; i++)
        free(folders->own[i]);
    free(folders->own);
    free(folders->list);
    *folders = (struct folders){0};
}

int folders_add_own(struct folders *folders, const char *path)
{
    char **grown = reallocarray(folders->own, folders->own_count + 1, sizeof(*grown));
    if (grown == NULL)
        return -ENOMEM;
    folders->own = grown;
    char *copy = strdup(path);
    if (copy == NULL)
        return -ENOMEM;
    folders->own[folders->own_count++] = copy;
    return 0;
}

const char *folder_mode_name(enum folder_mode mode)
{
    static const char *const names[FOLDER_MODE_COUNT] = {
        [FOLDER_READ_ONLY] = "ro", [FOLDER_OVERLAY] = "overlay", [FOLDER_WRITABLE] = "rw"};
    return names[mode];
}

bool folders_have(const struct folders *folders, enum folder_mode mode)
{
    for (size_t i = 0; folders != NULL && i < folders->count; i++)
        if (folders->list[i].mode == mode)
            return true;
    return false;
}

static int refuse_open(const char *path, int error, struct fault *fault)
{
    if (error == ENOENT)
        return fault_set(fault, error,
                         "there is no folder %s: create it, or name another one (a mode is ro, "
                         "overlay or rw, as in FOLDER:ro)",
                         path);
    if (error == ENOTDIR)
        return fault_set(fault, error, "%s is not a folder: name the one that it is in", path);
    return fault_set(fault, error, "cannot open the folder %s: %s", path, strerror(error));
}

int folder_open(const char *path, struct folder *folder, struct fault *fault)
{
    OWNED_FD int fd = open_resolved(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return refuse_open(path, -fd, fault);
    struct stat status;
    char link[sizeof("/proc/self/fd/") + 10];
    char real[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = fstat(fd, &status) < 0 ? -1 : readlink(link, real, sizeof(real));
    if (length < 0)
        return refuse_open(path, errno, fault);
    if ((size_t)length == sizeof(real))
        return refuse_open(path, ENAMETOOLONG, fault);
    char *copy = strndup(real, (size_t)length);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "out of memory for the folder %s", path);
    free(folder->path);
    fd_close(&folder->fd);
    folder->path = copy;
    folder->fd = fd_take(&fd);
    folder->device = status.st_dev;
    folder->inode = status.st_ino;
    return 0;
}

bool folder_is_in_scratch(const char *place)
{
    static const char *const scratch[] = {RUN_WORK, RUN_HOME, "/tmp"};
    for (size_t i = 0; i < ARRAY_LENGTH(scratch); i++)
        if (path_is_below(place, scratch[i]))
            return true;
    return false;
}

/* Absolute, without empty parts, "." and "..". */
static bool is_normal(const char *path)
{
    if (path[0] != '/')
        return false;
    for (const char *part = path; part[0] != '\0'; part += strcspn(part, "/")) {
        part++;
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.') || length > NAME_MAX)
            return false;
    }
    return true;
}

int folder_check_place(const struct folder *folder, struct fault *fault)
{
    /* In each of them, a folder would hide a part of every image or jail. */
    static const char *const whole[] = {RUN_WORK, RUN_HOME, "/tmp"};
    static const char *const below[] = {"/proc", "/sys", "/dev",   "/usr",   "/bin",
                                        "/sbin", "/lib", "/lib32", "/lib64", "/etc"};
    const char *place = folder->place;
    if (strcmp(place, "/") == 0)
        return fault_set(fault, EINVAL,
                         "a folder cannot be the root of the sandbox: " ANOTHER_PLACE);
    if (!is_normal(place))
        return fault_set(fault, EINVAL,
                         "the place %s in the sandbox must be an absolute path without \".\", "
                         "\"..\" and //, and without / at the end",
                         place);
    if (strlen(place) >= FOLDER_PLACE_SIZE)
        return fault_set(fault, EINVAL,
                         "the place of %s in the sandbox is longer than %d bytes: " ANOTHER_PLACE,
                         folder->path, FOLDER_PLACE_SIZE - 1);
    for (size_t i = 0; i < ARRAY_LENGTH(whole); i++)
        if (path_is_below(whole[i], place))
            return fault_set(fault, EINVAL,
                             "the sandbox has a directory %s of its own: " ANOTHER_PLACE, whole[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(below); i++)
        if (path_is_below(place, below[i]))
            return fault_set(fault, EINVAL,
                             "%s in the sandbox belongs to the system there: " ANOTHER_PLACE,
                             place);
    return 0;
}

/* Whether the directory is one of git's own, or in one. */
static bool is_in_git(const char *path)
{
    char above[PATH_MAX];
    snprintf(above, sizeof(above), "%s", path);
    for (char *slash = above + strlen(above); slash != NULL; slash = strrchr(above, '/')) {
        *slash = '\0';
        const char *name = strrchr(above, '/');
        OWNED_FD int fd = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if ((name != NULL && strcasecmp(name, "/.git") == 0) || (fd >= 0 && git_directory_is(fd)))
            return true;
    }
    return false;
}

int folder_check_writable(const struct folder *folder, struct fault *fault)
{
    const char *name = strrchr(folder->path, '/');
    if (is_in_git(folder->path))
        return fault_set(fault, EPERM,
                         "%s cannot be mounted as rw: it belongs to a git repository, from which "
                         "git takes commands; mount the work tree, or use the mode overlay",
                         folder->path);
    if (name != NULL && protected_names_have(name + 1))
        return fault_set(fault, EPERM,
                         "%s cannot be mounted as rw: other programs take commands from it; mount "
                         "another folder, or use the mode overlay",
                         folder->path);
    return 0;
}
