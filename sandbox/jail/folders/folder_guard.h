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

struct folder_guard {
    const struct folders *folders; /* borrowed, or NULL */
    struct folder_scan scans[FOLDERS_MAX]; /* of those of mode FOLDER_WRITABLE */
    struct plan_folder_part *parts; /* owned; borrows paths from the scans */
};

/* Protected names that a run left. Untrusted. */
struct folder_changes {
    char *list[FOLDER_APPEARED_MAX]; /* owned; paths in the jail */
    size_t count;
    size_t more;
    bool is_unknown; /* a folder could not be looked at after the run */
};

/*
 * Just before a run: checks that each folder is still in its place, looks through the writable ones and
 * adds to the plan what they need; the guard must outlive the use of the plan. 0, or a negative errno
 * with its fault: -ESTALE for a folder that was moved or replaced.
 */
int folder_guard_open(struct folder_guard *guard, struct jail_plan *plan, struct fault *fault);

/* Looks again; *ret_changes must be empty. Nothing to do without writable folders. */
void folder_guard_compare(const struct folder_guard *guard, struct folder_changes *ret_changes);

void folder_guard_release(struct folder_guard *guard);
void folder_changes_release(struct folder_changes *changes);

#endif
