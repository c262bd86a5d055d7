/*
 * Guards the folders that a run may change: before it, finds what its jail must protect; after it,
 * protected names that have appeared.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_GUARD_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_GUARD_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/folders/folder_scan.h"
#include "sandbox/limits/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* What was there at a time, in each folder of mode FOLDER_WRITABLE. */
struct folder_state {
    struct folder_scan scans[FOLDERS_MAX];
    size_t users; /* of those that share it */
    bool is_joined; /* runs have overlapped */
};

struct folder_guard {
    const struct folders *folders; /* borrowed, or NULL */
    struct folder_state *before; /* owned, shared; NULL until the guard is open */
    /*
     * Owned, shared: before the first of all runs that overlap with this one, which may hide from each other what
     * they make.
     */
    struct folder_state *since;
    struct folder_scan told[FOLDERS_MAX]; /* at the last comparison */
    struct plan_folder_part *parts; /* owned; borrows paths from `before` */
    size_t part_count;
};

/*
 * Protected names that a run, or one that overlapped with it, left, and those that another had moved when it began.
 * Untrusted.
 */
struct folder_changes {
    char *list[FOLDER_APPEARED_MAX]; /* owned; paths in the jail */
    size_t count;
    size_t more;
    bool is_unknown; /* a folder could not be looked at after the run */
    bool is_shared; /* other runs overlapped */
};

/* Whether there is something to tell. */
bool folder_changes_matter(const struct folder_changes *changes);

/*
 * Just before a run: checks that each folder is still in its place, looks through the writable ones and
 * adds to the plan what they need; the guard must outlive the use of the plan. 0, or a negative errno
 * with its fault: -ESTALE for a folder that was moved or replaced.
 */
int folder_guard_open(struct folder_guard *guard, struct jail_plan *plan, struct fault *fault);

/*
 * The run of the other guard, which is open, goes on: they share what was there before the first. Does nothing for
 * other folders.
 */
void folder_guard_join(struct folder_guard *guard, const struct folder_guard *other);

/*
 * Before a jail goes on that the guard was opened for: whether its folders are still in their places, and what it
 * protects has not been replaced, by which its mounts come off (mount(2), since Linux 3.18). 0; -ESTALE or another
 * negative errno with its fault.
 */
int folder_guard_check(const struct folder_guard *guard, struct fault *fault);

/*
 * Looks again, for what the last comparison did not find; *ret_changes must be empty, and is to be told. Nothing to do
 * without writable folders, or for a guard that is not open.
 */
void folder_guard_compare(struct folder_guard *guard, struct folder_changes *ret_changes);

void folder_guard_release(struct folder_guard *guard);
void folder_changes_release(struct folder_changes *changes);

#endif
