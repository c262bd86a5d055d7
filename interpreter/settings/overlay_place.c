#include "interpreter/settings/overlay_place.h"

#include "images/store/xdg.h"
#include "sandbox/base/owned.h"
#include "sandbox/jail/folder_probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void overlay_place_release(struct overlay_place *place)
{
    free(place->path);
    *place = (struct overlay_place){0};
}

int overlay_place_directory(char **ret_path)
{
    OWNED_MEMORY char *state = NULL;
    int r = xdg_directory("XDG_STATE_HOME", ".local/state", &state);
    if (r < 0)
        return r;
    char *path;
    if (asprintf(&path, "%s/code-sandbox-mcp/overlays", state) < 0)
        return -ENOMEM;
    *ret_path = path;
    return 0;
}

/* With its parents, for this user only, as the XDG specification says. */
static int make_directories(char *path)
{
    for (char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
        if (end != NULL)
            *end = '\0';
        int r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
        if (end != NULL)
            *end = '/';
        if (r < 0 || end == NULL)
            return r;
    }
}

static int find_on_disk(char **ret_path, struct fault *fault)
{
    OWNED_MEMORY char *path = NULL;
    int r = overlay_place_directory(&path);
    if (r < 0)
        return fault_set(fault, -r, "the state directory: %m");
    r = make_directories(path);
    OWNED_MEMORY char *real = r == 0 ? realpath(path, NULL) : NULL;
    if (real == NULL)
        return fault_set(fault, r < 0 ? -r : errno, "%s: %m", path);
    r = folder_probe(FOLDER_OVERLAY, real, fault);
    if (r < 0) {
        fault_prefix(fault, "%s", real);
        return r;
    }
    *ret_path = pointer_take(&real);
    return 0;
}

int overlay_place_find(struct overlay_place *ret_place, struct fault *fault)
{
    *ret_place = (struct overlay_place){0};
    if (folder_probe_tmpfs(&ret_place->reason) == 0)
        return 0;
    struct fault disk = {0};
    int r = find_on_disk(&ret_place->path, &disk);
    if (r == 0)
        return 0;
    return fault_set(
        fault, -r,
        "%s; and the state directory cannot hold the copies of overlay folders instead: "
        "%s. Use the mode ro, or set XDG_STATE_HOME to a directory on ext4, XFS or Btrfs",
        ret_place->reason.text, disk.text);
}

int mount_mode_probe(enum folder_mode mode, struct overlay_place *ret_place, struct fault *fault)
{
    int r = mode == FOLDER_OVERLAY ? overlay_place_find(ret_place, fault) : 0;
    if (r < 0 || (mode == FOLDER_OVERLAY && ret_place->path != NULL))
        return r; /* the place was found by trying */
    return folder_probe(mode, NULL, fault);
}
