#include "sandbox/jail/folders/folder_guard.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* The jail looks again; a prewarmed one has the folder that was there when it was made. */
static int check_identity(const struct folder *folder, struct fault *fault)
{
    struct stat status;
    bool is_there = stat(folder->path, &status) == 0;
    if (is_there && status.st_dev == folder->device && status.st_ino == folder->inode)
        return 0;
    fault_identify(fault, "open_folders");
    if (!is_there && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return fault_set(fault, errno, "cannot look at the folder %s: %m", folder->path);
    return fault_set(fault, ESTALE,
                     "the folder %s was moved or replaced since this server started: restart it",
                     folder->path);
}

/* The parts of all writable folders, as the child takes them. */
static int plan_parts(struct folder_guard *guard, size_t count, struct jail_plan *plan)
{
    guard->parts = calloc(count + 1, sizeof(*guard->parts));
    if (guard->parts == NULL)
        return -ENOMEM;
    plan->folder_parts = guard->parts;
    plan->folder_part_count = 0;
    for (size_t i = 0; i < guard->folders->count; i++)
        for (size_t j = 0; j < guard->scans[i].count; j++)
            guard->parts[plan->folder_part_count++] = (struct plan_folder_part){
                .folder = i,
                .path = guard->scans[i].list[j].path,
                .care = guard->scans[i].list[j].care,
            };
    return 0;
}

/* Of no folder may all have to be protected: mounts cannot do that. */
static int check_whole(const struct folder_guard *guard, struct fault *fault)
{
    for (size_t i = 0; i < guard->folders->count; i++) {
        if (guard->scans[i].count == 0 || guard->scans[i].list[0].path[0] != '\0')
            continue;
        fault_identify(fault, "open_folders");
        return fault_set(fault, EPERM,
                         "%s cannot be mounted as rw: it is a git repository without a work tree, "
                         "or a protected name in it leads to the whole folder; look at it, or use "
                         "the mode overlay",
                         guard->folders->list[i].path);
    }
    return 0;
}

int folder_guard_open(struct folder_guard *guard, struct jail_plan *plan, struct fault *fault)
{
    if (guard->folders == NULL)
        return 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < guard->folders->count; i++)
        r = check_identity(&guard->folders->list[i], fault);
    if (r == 0)
        r = folder_scan_read(guard->folders, guard->scans, fault);
    if (r == 0)
        r = check_whole(guard, fault);
    if (r < 0)
        return r;
    size_t count = 0;
    for (size_t i = 0; i < guard->folders->count; i++)
        count += guard->scans[i].count;
    if (plan_parts(guard, count, plan) < 0)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    return 0;
}

static void add_change(struct folder_changes *changes, const char *place, const char *path)
{
    char *whole = NULL;
    if (changes->count < FOLDER_APPEARED_MAX && asprintf(&whole, "%s/%s", place, path) >= 0)
        changes->list[changes->count++] = whole;
    else
        changes->more++;
}

static void compare(const struct folder_guard *guard, size_t i, const struct folder_scan *after,
                    struct folder_changes *changes)
{
    for (size_t j = 0; j < after->count; j++)
        if (after->list[j].care == CARE_PROTECT &&
            !folder_scan_has(&guard->scans[i], &after->list[j]))
            add_change(changes, guard->folders->list[i].place, after->list[j].path);
}

void folder_guard_compare(const struct folder_guard *guard, struct folder_changes *ret_changes)
{
    if (guard->folders == NULL || !folders_have(guard->folders, FOLDER_WRITABLE))
        return;
    struct folder_scan after[FOLDERS_MAX] = {0};
    if (folder_scan_read(guard->folders, after, NULL) < 0)
        ret_changes->is_unknown = true;
    for (size_t i = 0; i < guard->folders->count; i++) {
        compare(guard, i, &after[i], ret_changes);
        folder_scan_release(&after[i]);
    }
}

void folder_guard_release(struct folder_guard *guard)
{
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        folder_scan_release(&guard->scans[i]);
    memory_release(&guard->parts);
}

void folder_changes_release(struct folder_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        free(changes->list[i]);
    *changes = (struct folder_changes){0};
}
