#include "interpreter/settings/mount_settings.h"
#include "interpreter/settings/home_path.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/folders/host_fence.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void mount_release(struct mount *mount)
{
    free(mount->source);
    free(mount->path);
    free(mount->place);
    *mount = (struct mount){0};
}

void mounts_release(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        mount_release(&mounts->list[i]);
    free(mounts->list);
    *mounts = (struct mounts){0};
}

int mount_mode_read(const char *name, enum folder_mode *ret_mode, struct fault *fault)
{
    for (enum folder_mode mode = 0; mode < FOLDER_MODE_COUNT; mode++) {
        if (strcmp(folder_mode_name(mode), name) == 0) {
            *ret_mode = mode;
            return 0;
        }
    }
    return fault_set(fault, EINVAL, "the mode of a folder must be ro, overlay or rw, not \"%.40s\"",
                     name);
}

int mounts_add(struct mounts *mounts, const struct mount *mount, struct fault *fault)
{
    if (mounts->count == FOLDERS_MAX)
        return fault_set(fault, EINVAL, "%s: at most %d folders can be mounted", mount->source,
                         FOLDERS_MAX);
    struct mount *grown = reallocarray(mounts->list, mounts->count + 1, sizeof(*mounts->list));
    if (grown == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", mount->source);
    mounts->list = grown;
    struct mount *added = &mounts->list[mounts->count++];
    *added = (struct mount){
        .source = strdup(mount->source),
        .mode = mount->mode,
        .place = mount->place != NULL ? strdup(mount->place) : NULL,
    };
    if (added->source == NULL || (mount->place != NULL && added->place == NULL))
        return fault_set(fault, ENOMEM, "reading %s: %m", mount->source);
    return home_path_expand(mount->source, mount->path, &added->path, fault);
}

/* The last "@/" of the text; NULL: there is none. */
static char *find_place(char *text)
{
    char *found = NULL;
    for (char *at = text; (at = strstr(at, "@/")) != NULL; at++)
        found = at;
    return found;
}

static bool ends_with_mode(const char *place)
{
    enum folder_mode mode;
    const char *colon = strrchr(place, ':');
    return colon != NULL && mount_mode_read(colon + 1, &mode, NULL) == 0;
}

int mounts_add_text(struct mounts *mounts, const char *source, const char *text,
                    struct fault *fault)
{
    OWNED_MEMORY char *path = strdup(text);
    if (path == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", source);
    struct mount mount = {.source = (char *)source, .path = path, .mode = FOLDER_READ_ONLY};
    char *at = find_place(path);
    if (at != NULL) {
        *at = '\0';
        mount.place = at + 1;
    }
    char *colon = strrchr(path, ':');
    if (colon != NULL && mount_mode_read(colon + 1, &mount.mode, NULL) == 0)
        *colon = '\0';
    if (mount.place != NULL && ends_with_mode(mount.place))
        return fault_set(fault, EINVAL, "%s: the mode comes before the place: FOLDER:MODE@/PATH",
                         source);
    if (path[0] == '\0')
        return fault_set(fault, EINVAL,
                         "%s needs a folder: FOLDER, FOLDER:MODE or FOLDER:MODE@/PATH", source);
    return mounts_add(mounts, &mount, fault);
}

int mounts_add_list(struct mounts *mounts, const char *source, const char *text,
                    struct fault *fault)
{
    OWNED_MEMORY char *copy = strdup(text);
    if (copy == NULL)
        return fault_set(fault, ENOMEM, "reading %s: %m", source);
    char *rest = copy;
    int r = 0;
    for (char *folder; r == 0 && (folder = strsep(&rest, ",")) != NULL;)
        r = mounts_add_text(mounts, source, folder + strspn(folder, " "), fault);
    return r;
}

static int refuse(const struct folder *folder, const char *reason, const char *remedy,
                  struct fault *fault)
{
    return fault_set(fault, EPERM, "%s cannot be mounted: %s; %s", folder->path, reason, remedy);
}

/* The path with links resolved, as far as it exists; owned by the caller. NULL for NULL. */
static char *real_path(const char *path)
{
    if (path == NULL)
        return NULL;
    char *real = realpath(path, NULL);
    return real != NULL ? real : strdup(path);
}

static int check_fence(const struct folder *folder, const struct mount_fence *fence,
                       struct fault *fault)
{
    OWNED_MEMORY char *home = real_path(fence->home);
    struct host_fence stopped;
    if (!host_fence_stops(folder->path, home, &stopped))
        return 0;
    return refuse(folder, stopped.reason, stopped.remedy, fault);
}

static int check_own(const struct folder *folder, const struct mount_fence *fence,
                     struct fault *fault)
{
    OWNED_MEMORY char *store = real_path(fence->store);
    OWNED_MEMORY char *configuration = real_path(fence->configuration);
    OWNED_MEMORY char *read = real_path(fence->configuration_read);
    OWNED_MEMORY char *copies = real_path(fence->copies);
    if (store != NULL && (path_is_below(store, folder->path) || path_is_below(folder->path, store)))
        return refuse(folder, "the images of this server are there", "mount another folder", fault);
    if (copies != NULL &&
        (path_is_below(copies, folder->path) || path_is_below(folder->path, copies)))
        return refuse(folder, "copies of folders of other runs are there", "mount another folder",
                      fault);
    if ((configuration != NULL && (path_is_below(configuration, folder->path) ||
                                   path_is_below(folder->path, configuration))) ||
        (read != NULL && path_is_below(read, folder->path)))
        return refuse(folder, "the configuration of this server is there",
                      "mount another folder, or keep the configuration elsewhere (--config)",
                      fault);
    return 0;
}

/* The folder of "project". */
static const char *find_project(void)
{
    const char *told = getenv("CLAUDE_PROJECT_DIR");
    return told != NULL && told[0] != '\0' ? told : ".";
}

static bool is_project(const struct mount *mount)
{
    return strcmp(mount->path, MOUNT_PROJECT) == 0;
}

const char *mount_path(const struct mount *mount)
{
    return is_project(mount) ? find_project() : mount->path;
}

/* One configuration of a user serves many projects: it must not give away what is no project. */
static int check_project(const struct folder *folder, const struct mount_fence *fence,
                         struct fault *fault)
{
    OWNED_MEMORY char *home = real_path(fence->home);
    OWNED_MEMORY char *under = real_path(fence->under);
    if ((home != NULL && path_is_below(folder->path, home)) ||
        (under != NULL && path_is_below(folder->path, under)))
        return 0;
    return refuse(folder, "the project is outside of your home directory",
                  "allow folders below one with --mount-under DIR, or name the folder", fault);
}

static int open_mount(const struct mount *mount, const struct mount_fence *fence,
                      struct folder *folder, struct fault *fault)
{
    int r = folder_open(mount_path(mount), folder, fault);
    if (r == 0)
        r = check_fence(folder, fence, fault);
    if (r == 0)
        r = check_own(folder, fence, fault);
    if (r == 0 && is_project(mount))
        r = check_project(folder, fence, fault);
    if (r < 0)
        return r;
    if (mount->mode == FOLDER_WRITABLE && folder_check_writable(folder, fault) < 0)
        return -EPERM;
    folder->mode = mount->mode;
    folder->place_is_given = mount->place != NULL;
    folder->place = strdup(mount->place != NULL ? mount->place : folder->path);
    return folder->place == NULL ? fault_set(fault, ENOMEM, "out of memory for folders")
                                 : folder_check_place(folder, fault);
}

/* Against those before it: a folder must not hide a part of another one. */
static int check_overlap(const struct folders *folders, const struct folder *folder,
                         struct fault *fault)
{
    for (size_t i = 0; i < folders->count; i++) {
        const struct folder *other = &folders->list[i];
        if (other != folder && (path_is_below(folder->place, other->place) ||
                                path_is_below(other->place, folder->place)))
            return fault_set(fault, EINVAL,
                             "%s and %s overlap in the sandbox: mount one of them, or give one "
                             "another place with @/PATH",
                             other->place, folder->place);
    }
    return 0;
}

int mounts_open(const struct mounts *mounts, const struct mount_fence *fence,
                struct folders *ret_folders, struct fault *fault)
{
    if (mounts->count == 0)
        return 0;
    OWNED(folders_release) struct folders folders = {0};
    folders.list = calloc(mounts->count, sizeof(*folders.list));
    if (folders.list == NULL)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    for (size_t i = 0; i < mounts->count; i++) {
        struct folder *folder = &folders.list[folders.count++];
        folder->fd = -1;
        int r = open_mount(&mounts->list[i], fence, folder, fault);
        if (r == 0)
            r = check_overlap(&folders, folder, fault);
        if (r < 0) {
            fault_prefix(fault, "%s", mounts->list[i].source);
            return r;
        }
    }
    *ret_folders = folders;
    folders = (struct folders){0};
    return 0;
}
