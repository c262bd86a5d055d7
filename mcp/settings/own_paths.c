#include "mcp/settings/own_paths.h"

#include "mcp/settings/setting_table.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/host_fence.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A path of the server's, and what names it: "--files-dir". */
struct own_path {
    const char *name;
    const char *path;
};

/* The writable folder in which a path lies; NULL: none does. */
static const struct folder *folder_with(const struct folders *folders, const char *real)
{
    for (size_t i = 0; i < folders->count; i++)
        if (folders->list[i].mode == FOLDER_WRITABLE && path_is_below(real, folders->list[i].path))
            return &folders->list[i];
    return NULL;
}

/*
 * The same for each directory on the way and for the end, as links lead: whoever changes a link on the way
 * changes the end. The end may not exist yet. `path` is absolute, and is changed meanwhile.
 */
static const struct folder *folder_on_the_way(const struct folders *folders, char *path)
{
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char byte = *at;
        *at = '\0';
        OWNED_MEMORY char *real = realpath(path, NULL);
        *at = byte;
        if (real == NULL)
            return NULL;
        const struct folder *folder = folder_with(folders, real);
        if (folder != NULL || byte == '\0')
            return folder;
    }
}

static int check_path(const struct folders *folders, const struct own_path *own,
                      struct fault *fault)
{
    char here[PATH_MAX] = "";
    OWNED_MEMORY char *path = NULL;
    if (own->path[0] != '/' && getcwd(here, sizeof(here)) == NULL)
        return fault_set(fault, errno, "the working directory: %m");
    if (asprintf(&path, "%s%s%s", here, own->path[0] == '/' ? "" : "/", own->path) < 0) {
        path = NULL;
        return fault_set(fault, ENOMEM, "out of memory for folders");
    }
    const struct folder *folder = folder_on_the_way(folders, path);
    if (folder == NULL)
        return 0;
    return fault_set(
        fault, EPERM,
        "%s cannot be mounted with the mode rw: snippets could replace %s, which is %s; "
        "mount it with the mode ro or overlay, or keep that elsewhere",
        folder->path, own->path, own->name);
}

/* The value of a setting that is a path; NULL: it is none, or not set. */
static const char *path_of(const struct settings *settings, const struct option *option)
{
    if (option->setting == NULL || option->setting->kind != SETTING_PATH)
        return NULL;
    const char *const *member =
        (const char *const *)((const char *)settings + option->setting->offset);
    /* Presets and "none" are no files. */
    return *member != NULL && (option->setting->is_written || access(*member, F_OK) == 0) ? *member
                                                                                          : NULL;
}

static int check_settings(const struct settings *settings, struct fault *fault)
{
    int r = 0;
    for (const struct option *const *table = setting_tables; *table != NULL; table++) {
        for (const struct option *option = *table; r == 0 && option->name != NULL; option++) {
            const struct own_path own = {option->name, path_of(settings, option)};
            if (own.path != NULL)
                r = check_path(&settings->folders, &own, fault);
        }
    }
    for (size_t i = 0; r == 0 && i < settings->environment_file_count; i++)
        r = check_path(&settings->folders,
                       &(struct own_path){"--env-file", settings->environment_files[i]}, fault);
    return r;
}

int own_paths_check(const struct settings *settings, struct fault *fault)
{
    char program[PATH_MAX] = "";
    if (!folders_have(&settings->folders, FOLDER_WRITABLE))
        return 0;
    int r = check_settings(settings, fault);
    if (r == 0 && readlink("/proc/self/exe", program, sizeof(program) - 1) > 0)
        r = check_path(&settings->folders, &(struct own_path){"this program", program}, fault);
    return r;
}
