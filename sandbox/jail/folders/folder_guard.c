#include "sandbox/jail/folders/folder_guard.h"

#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
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

static struct folder_state *state_share(struct folder_state *state)
{
    state->users++;
    return state;
}

static void state_release(struct folder_state **state)
{
    struct folder_state *held = pointer_take(state);
    if (held == NULL || --held->users > 0)
        return;
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        folder_scan_release(&held->scans[i]);
    free(held);
}

/* The parts of all writable folders, as the child takes them. */
static int plan_parts(struct folder_guard *guard, size_t count, struct jail_plan *plan)
{
    guard->parts = calloc(count + 1, sizeof(*guard->parts));
    if (guard->parts == NULL)
        return -ENOMEM;
    plan->folder_parts = guard->parts;
    guard->part_count = 0;
    for (size_t i = 0; i < guard->folders->count; i++) {
        const struct folder_scan *scan = &guard->before->scans[i];
        for (size_t j = 0; j < scan->count; j++)
            guard->parts[guard->part_count++] = (struct plan_folder_part){
                .folder = i,
                .path = scan->list[j].path,
                .device = scan->list[j].device,
                .inode = scan->list[j].inode,
                .care = scan->list[j].care,
            };
    }
    plan->folder_part_count = guard->part_count;
    return 0;
}

/* Of no folder may all have to be protected: mounts cannot do that. */
static int check_whole(const struct folder_guard *guard, struct fault *fault)
{
    for (size_t i = 0; i < guard->folders->count; i++) {
        const struct folder_scan *scan = &guard->before->scans[i];
        if (scan->count == 0 || scan->list[0].path[0] != '\0')
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
    if (r < 0)
        return r;
    guard->before = calloc(1, sizeof(*guard->before));
    if (guard->before == NULL)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    guard->before->users = 1;
    r = folder_scan_read(guard->folders, guard->before->scans, fault);
    if (r == 0)
        r = check_whole(guard, fault);
    if (r < 0)
        return r;
    size_t count = 0;
    for (size_t i = 0; i < guard->folders->count; i++)
        count += guard->before->scans[i].count;
    if (plan_parts(guard, count, plan) < 0)
        return fault_set(fault, ENOMEM, "out of memory for folders");
    guard->since = state_share(guard->before);
    return 0;
}

static bool is_in_place(int folder_fd, const struct plan_folder_part *part)
{
    struct stat status;
    return fstatat(folder_fd, part->path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_dev == part->device && status.st_ino == part->inode;
}

int folder_guard_check(const struct folder_guard *guard, struct fault *fault)
{
    int r = 0;
    if (guard->folders == NULL)
        return 0;
    for (size_t i = 0; r == 0 && i < guard->folders->count; i++)
        r = check_identity(&guard->folders->list[i], fault);
    for (size_t i = 0; r == 0 && i < guard->part_count; i++) {
        const struct plan_folder_part *part = &guard->parts[i];
        const struct folder *folder = &guard->folders->list[part->folder];
        if (!is_in_place(folder->fd, part))
            r = fault_set(fault, ESTALE,
                          "%s in the folder %s was replaced, and is not protected any more",
                          part->path, folder->path);
    }
    return r;
}

void folder_guard_join(struct folder_guard *guard, const struct folder_guard *other)
{
    if (other == guard || guard->since == NULL || other->since == NULL ||
        guard->folders != other->folders || guard->since == other->since)
        return;
    state_release(&guard->since);
    guard->since = state_share(other->since);
    guard->since->is_joined = true;
}

bool folder_changes_matter(const struct folder_changes *changes)
{
    return changes->count > 0 || changes->more > 0 || changes->is_unknown;
}

static void add_change(struct folder_changes *changes, const char *place, const char *path)
{
    char *whole = NULL;
    if (changes->count < FOLDER_APPEARED_MAX && asprintf(&whole, "%s/%s", place, path) >= 0)
        changes->list[changes->count++] = whole;
    else
        changes->more++;
}

/* What appeared is not protected in this jail: it is told again whenever something in it may have changed. */
static void compare(const struct folder_guard *guard, size_t i, struct folder_scan *after,
                    struct folder_changes *changes)
{
    const struct folder *folder = &guard->folders->list[i];
    struct trace_budget budget = TRACE_BUDGET;
    for (size_t j = 0; j < after->count; j++) {
        struct folder_part *part = &after->list[j];
        if (part->care != CARE_PROTECT || folder_scan_kept(&guard->since->scans[i], part))
            continue;
        part_trace_read(folder->fd, part->path, &budget, &part->trace);
        if (!folder_scan_rested(&guard->told[i], part))
            add_change(changes, folder->place, part->path);
    }
}

/*
 * What another run moved before this one looked, which is not protected in it, and may be back. One that has been
 * replaced at the same path is told by compare().
 */
static void compare_begin(const struct folder_guard *guard, size_t i,
                          const struct folder_scan *after, struct folder_changes *changes)
{
    const struct folder_scan *since = &guard->since->scans[i];
    for (size_t j = 0; j < since->count; j++) {
        const struct folder_part *part = &since->list[j];
        if (part->care == CARE_PROTECT && !folder_scan_has(&guard->before->scans[i], part) &&
            (folder_scan_has(after, part) || !folder_parts_cover(after, part->path)))
            add_change(changes, guard->folders->list[i].place, part->path);
    }
}

void folder_guard_compare(struct folder_guard *guard, struct folder_changes *changes)
{
    if (guard->since == NULL || !folders_have(guard->folders, FOLDER_WRITABLE))
        return;
    struct folder_scan after[FOLDERS_MAX] = {0};
    if (folder_scan_read(guard->folders, after, NULL) < 0)
        changes->is_unknown = true;
    changes->is_shared = guard->since->is_joined;
    for (size_t i = 0; i < guard->folders->count; i++) {
        compare(guard, i, &after[i], changes);
        compare_begin(guard, i, &after[i], changes);
        folder_scan_release(&guard->told[i]);
        guard->told[i] = after[i];
    }
}

void folder_guard_release(struct folder_guard *guard)
{
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        folder_scan_release(&guard->told[i]);
    memory_release(&guard->parts);
    state_release(&guard->since);
    state_release(&guard->before);
}

void folder_changes_release(struct folder_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        free(changes->list[i]);
    *changes = (struct folder_changes){0};
}
