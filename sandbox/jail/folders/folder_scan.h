/*
 * What needs care in a folder that snippets may change: files that other programs run or trust, and
 * files that lead to other programs.
 *
 * Names that do not exist cannot be protected by mounts. A second scan after a run tells those that
 * have appeared. Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_SCAN_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_SCAN_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/folder_mode.h"
#include "sandbox/jail/folders/folder.h"

#include <stddef.h>
#include <stdint.h>

struct folder_part {
    char *path; /* owned; below the folder, no "." or ".." */
    enum folder_care care;
    uint64_t device, inode;
};

struct folder_scan {
    struct folder_part *list; /* owned; a directory comes before what is in it */
    size_t count; /* <= FOLDER_PARTS_MAX */
    size_t names; /* read so far, of FOLDER_NAMES_MAX */
};

void folder_scan_release(struct folder_scan *scan);

/*
 * Walks through the folder, without following links or entering other mounts. 0; -E2BIG with a fault
 * if the folder has more names, levels or parts than the limits allow; another negative errno with its
 * fault. Takes about a second for a million names.
 */
int folder_scan_read(const struct folder *folder, struct folder_scan *ret_scan,
                     struct fault *fault);

/*
 * Whether a part that `before` protects is the same now: false for one that has appeared or was
 * replaced since.
 */
bool folder_scan_has(const struct folder_scan *before, const struct folder_part *part);

#endif
